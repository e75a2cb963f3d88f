// Cheap steps on a part of the examples or of the network: is their gradient the one they promise?

#include <gtest/gtest.h>

#include "adagp/rivals/method/choice.h"
#include "unit/method/exact_gradient.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

using exact::expect_near;
using exact::moved;
using exact::plain;
using exact::slow_gradient;
using exact::Values;

TEST(Selective, IsTheGradientOfTheChosenExamplesMean) {
  config::RunConfig c = plain("selective");
  c.parts.get<rivals::SelectiveOptions>().share = 0.4;
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  at::Tensor losses;
  {
    step::Session reference = small::session(c);
    losses = at::cross_entropy_loss(reference.net->run(batch.inputs).at(0).detach(), batch.labels(),
                                    {}, at::Reduction::None);
  }
  const at::Tensor chosen = std::get<1>(at::topk(losses, 4));
  const auto before = small::copy_of(*s.net);
  find_method("selective").make(s)->cheap_step(s, batch);
  expect_near(moved(s, before), slow_gradient(c, batch, chosen), "selective");
}

TEST(Selective, PrioritySamplingIsUnbiased) {
  at::manual_seed(4);
  const at::Tensor losses = at::rand({20}).mul(3).pow(3) + 0.01;
  const at::Tensor values = at::randn({20}) * losses;  // what each would contribute
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Choice choice = choose(losses, 6, "priority");
    const double mean =
        (values.index_select(0, choice.rows) * choice.weights).mean().item<double>();
    sum += mean;
    squares += mean * mean;
  }
  const double mean = sum / kDraws;
  const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_NEAR(mean, values.mean().item<double>(), 4 * error);
}

TEST(Partial, IsExactBelowAndNothingAbove) {
  config::RunConfig c = plain("partial");
  c.parts.get<rivals::PartialOptions>().blocks = 2;
  step::Session s = small::session(c);
  const auto& net = dynamic_cast<const models::BlockNet&>(*s.net);
  std::vector<std::string> frozen;
  for (int i = 0; i < 2; ++i) frozen.push_back(net.blocks()[static_cast<size_t>(i)].name);
  const data::Batch batch = small::batch(c);
  const auto before = small::copy_of(*s.net);
  find_method("partial").make(s)->cheap_step(s, batch);
  const Values got = moved(s, before);
  const Values whole = slow_gradient(c, batch, at::arange(batch.size()));
  Values trained;
  int kept = 0;
  for (const auto& [name, value] : whole) {
    const bool above = name.starts_with("conv1") || name.starts_with("bn1") ||
                       std::any_of(frozen.begin(), frozen.end(), [&name = name](const auto& f) {
                         return name.starts_with(f + ".");
                       });
    if (above) {
      EXPECT_EQ(got.at(name).abs().max().item<float>(), 0) << name;
      ++kept;
    } else {
      trained[name] = value;
    }
  }
  EXPECT_GT(kept, 3);
  EXPECT_GT(trained.size(), 3U);
  expect_near(got, trained, "partial");
}

}  // namespace
}  // namespace adagp::method
