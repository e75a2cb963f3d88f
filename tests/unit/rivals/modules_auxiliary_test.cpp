// Parts of a network with losses of their own.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "unit/rivals/halves.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

using small::Values;

// What a step does to the lower and the upper half.
std::pair<Values, Values> moves(const config::RunConfig& c, bool change_upper) {
  step::Session s = small::session(c);
  const auto method = find_method("modules").make(s);
  if (change_upper) {
    const at::NoGradGuard no_grad;
    s.net->named_parameters()["fc.weight"].mul_(-2);
  }
  const Values before = small::copy_of(*s.net);
  method->full_step(s, small::batch(c));
  const small::Halves net = small::halves(s);
  std::pair<Values, Values> out;
  for (const auto& item : s.net->named_parameters()) {
    (net.lower_names.contains(item.key()) ? out.first : out.second)[item.key()] =
        before.at(item.key()) - item.value().detach();
  }
  return out;
}

TEST(ModulesAuxiliary, NoGradientCrossesTheCut) {
  const config::RunConfig c = small::plain_modules("auxiliary");
  const auto [lower, upper] = moves(c, false);
  const auto [lower_again, upper_again] = moves(c, true);
  for (const auto& [name, move] : lower) {
    EXPECT_TRUE(at::equal(move, lower_again.at(name))) << name;
    if (name.ends_with("conv1.weight")) {
      EXPECT_GT(move.abs().max().item<float>(), 0) << name;
    }
  }
  EXPECT_FALSE(at::equal(upper.at("fc.weight"), upper_again.at("fc.weight")));
  // The last part has the gradient that backprop has.
  config::RunConfig bp = c;
  bp.parts.get<rivals::ModulesOptions>().count = 1;
  const auto whole = moves(bp, false);
  for (const auto& [name, move] : upper) {
    EXPECT_TRUE(at::equal(move, whole.second.at(name))) << name;
  }
}

// The published head, operation by operation, with the parameters of a checkpoint.
at::Tensor mlp_sr(const Values& state, at::Tensor x) {
  const auto at_name = [&](const std::string& name) { return state.at("head0." + name); };
  const auto norm = [&](const at::Tensor& y, const std::string& name) {
    return at::relu(at::batch_norm(y, at_name(name + ".weight"), at_name(name + ".bias"), {}, {},
                                   true, 0.1, 1e-5, false));
  };
  x = at::adaptive_avg_pool2d(x, {(x.size(2) + 3) / 4, (x.size(3) + 3) / 4});
  for (const int i : {1, 4, 7}) {
    x = at::conv2d(x, at_name("maps." + std::to_string(i) + ".weight"));
    x = norm(x, "maps." + std::to_string(i + 1));
  }
  x = at::adaptive_avg_pool2d(x, {2, 2}).flatten(1);
  for (const int i : {0, 3, 6}) {
    x = norm(at::linear(x, at_name("vectors." + std::to_string(i) + ".weight")),
             "vectors." + std::to_string(i + 1));
  }
  return at::linear(x, at_name("vectors.9.weight"), at_name("vectors.9.bias"));
}

TEST(ModulesAuxiliary, IsAutogradThroughTheHead) {
  const config::RunConfig c = small::plain_modules("auxiliary");
  step::Session s = small::session(c);
  const auto method = find_method("modules").make(s);
  Values head;
  for (const auto& [name, tensor] : method->state()) head[name] = tensor.clone();
  const data::Batch batch = small::batch(c);
  const Values before = small::copy_of(*s.net);
  method->full_step(s, batch);

  step::Session reference = small::session(c);
  small::load(reference, before);
  const small::Halves net = small::halves(reference);
  at::cross_entropy_loss(mlp_sr(head, small::run_all(net.lower, batch.images())), batch.labels())
      .backward();
  int compared = 0;
  for (const auto& item : reference.net->named_parameters()) {
    if (!net.lower_names.contains(item.key())) continue;
    const at::Tensor moved =
        (before.at(item.key()) - s.net->named_parameters()[item.key()].detach()) / c.optim.lr;
    EXPECT_TRUE(at::allclose(moved, item.value().grad(), 1e-4, 2e-6))
        << item.key() << " differs by " << (moved - item.value().grad()).abs().max().item<float>();
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ModulesAuxiliary, AHeadLearnsItsBatch) {
  config::RunConfig c = small::plain_modules("auxiliary");
  c.optim.lr = 0.05;
  step::Session s = small::session(c);
  const auto method = find_method("modules").make(s);
  const auto weight = [&] { return method->state().at("head0.vectors.9.weight").clone(); };
  const at::Tensor before = weight();
  const data::Batch batch = small::batch(c);
  for (int i = 0; i < 30; ++i) method->full_step(s, batch);
  EXPECT_GT((weight() - before).abs().max().item<float>(), 1e-3);
  // Ten examples learnt by heart through a loss of the lower half's own.
  const step::StepResult seen = method->full_step(s, batch);
  EXPECT_LT(seen.loss.item<float>(), 1.0);
}

}  // namespace
}  // namespace adagp::method
