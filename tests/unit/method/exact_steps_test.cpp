// Cheap steps that are exact: is their gradient the one they promise?

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/choice.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/step/exact_step.h"
#include "unit/train/small.h"

namespace adagp::method {
namespace {

config::RunConfig plain(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.optim.momentum = 0;
  c.optim.decay = 0;
  c.optim.lr = 1;  // a step is then minus the gradient
  return c;
}

using Values = std::map<std::string, at::Tensor>;

// Minus what each parameter moved by.
Values moved(const step::Session& s, const Values& before) {
  Values out;
  for (const auto& item : s.net->named_parameters()) {
    out[item.key()] = before.at(item.key()) - item.value().detach();
  }
  return out;
}

// The gradient of the weighted mean loss over these rows, by autograd alone.
Values slow_gradient(const config::RunConfig& c, const data::Batch& batch, const at::Tensor& rows,
                     const at::Tensor& weights = {}) {
  step::Session s = small::session(c);
  const auto logits = s.net->run({batch.images().index_select(0, rows)}).at(0);
  at::Tensor losses =
      at::cross_entropy_loss(logits, batch.labels().index_select(0, rows), {}, at::Reduction::None);
  if (weights.defined()) losses = losses * weights;
  losses.mean().backward();
  Values out;
  for (const auto& item : s.net->named_parameters()) out[item.key()] = item.value().grad().clone();
  return out;
}

void expect_near(const Values& got, const Values& expected, const std::string& what) {
  for (const auto& [name, value] : expected) {
    // Weights are of order 1 and a step of lr 1 rounds to their last place.
    EXPECT_TRUE(at::allclose(got.at(name), value, 1e-5, 1e-6))
        << what << " " << name << " differs by "
        << (got.at(name) - value).abs().max().item<float>();
  }
}

TEST(Selective, IsTheGradientOfTheChosenExamplesMean) {
  config::RunConfig c = plain("selective");
  c.selective.share = 0.4;
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
  c.partial_blocks = 2;
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

TEST(LowRes, IsBackpropOnAreaMeans) {
  config::RunConfig c = plain("low-res");
  c.low_res.sizes = {8};
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  const auto method = find_method("low-res").make(s);
  const data::Batch shown = method->transform_batch(batch, {0, 3, schedule::Phase::kPredict});
  EXPECT_EQ(shown.images().sizes(), (std::vector<int64_t>{10, 3, 8, 8}));
  EXPECT_TRUE(at::allclose(shown.images(), at::avg_pool2d(batch.images(), {2, 2})));
  EXPECT_TRUE(method->transform_batch(batch, {0, 3, schedule::Phase::kBackprop})
                  .images()
                  .is_same(batch.images()));
  const auto before = small::copy_of(*s.net);
  method->cheap_step(s, shown);
  expect_near(moved(s, before), slow_gradient(c, shown, at::arange(10)), "low-res");
  for (const auto& item : s.net->named_buffers()) {
    if (item.key().find("running") == std::string::npos) continue;
    EXPECT_TRUE(at::equal(item.value(), before.at(item.key()))) << item.key() << " moved";
  }
}

TEST(LowRes, BatchesGrowAsImagesShrink) {
  config::RunConfig c = small::config("progressive");
  c.batch = 12;
  c.epochs = 10;
  step::Session s = small::session(c);
  const auto method = find_method("progressive").make(s);
  std::vector<int64_t> sizes;
  for (int64_t e = 0; e < 10; ++e) {
    const int64_t planned = method->batch_plan().at({e, 10, {}}).examples;
    sizes.push_back(planned > 0 ? planned : s.config.batch);
  }
  // Of 16x16: 8x8 for 4 epochs, 4 times as many; 12x12 for 3, 16/9 times 12 is 21, in eights 16.
  EXPECT_EQ(sizes, (std::vector<int64_t>{48, 48, 48, 48, 16, 16, 16, 12, 12, 12}));
  c.low_res.scale_batch = false;
  step::Session fixed = small::session(c);
  EXPECT_FALSE(find_method("progressive").make(fixed)->batch_plan().resizes_batches);
}

TEST(Weights, WeighEachExamplesGradient) {
  const config::RunConfig c = plain("bp");
  step::Session s = small::session(c);
  data::Batch batch = small::batch(c);
  batch.weights = at::linspace(0.2, 2, 10);
  const auto before = small::copy_of(*s.net);
  step::backprop_step(s, batch);
  expect_near(moved(s, before), slow_gradient(c, batch, at::arange(10), batch.weights), "weights");
}

TEST(StoredLosses, AreTheLossesTheExamplesHad) {
  config::RunConfig c = plain("bp");
  c.accumulate = 2;
  c.label_smoothing = 0.1;  // not in what is stored
  step::Session s = small::session(c);
  s.stored_losses = at::full({60}, -1.0, at::kFloat);
  data::Batch batch = small::batch(c);
  batch.examples = at::tensor(batch.indices, at::kLong);
  step::Session reference = small::session(c);
  const step::StepResult seen = backprop(reference, batch);
  step::backprop_step(s, batch);
  const at::Tensor expected =
      at::cross_entropy_loss(seen.outputs[0], batch.labels(), {}, at::Reduction::None);
  EXPECT_TRUE(at::allclose(s.stored_losses.index_select(0, batch.examples), expected));
  EXPECT_EQ(s.stored_losses.eq(-1).sum().item<int64_t>(), 50);
}

TEST(KeepStatistics, NormsComputeTheSameAndLeaveTheirStatisticsAlone) {
  nn::BatchNorm2d norm(3);
  norm->train();
  const at::Tensor x = at::randn({4, 3, 5, 5});
  const at::Tensor usual = norm->forward(x);
  const at::Tensor mean = norm->running_mean.clone();
  {
    const nn::KeepStatistics scope;
    EXPECT_TRUE(at::equal(norm->forward(x), usual));
  }
  EXPECT_TRUE(at::equal(norm->running_mean, mean));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  norm->forward(x);
  EXPECT_FALSE(at::equal(norm->running_mean, mean));
}

}  // namespace
}  // namespace adagp::method
