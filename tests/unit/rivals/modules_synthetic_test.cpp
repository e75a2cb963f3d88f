// Modules that go backward from a gradient that a synthesiser tells.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/rivals/method/modules.h"
#include "unit/rivals/halves.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

using small::Values;

// Synthesisers are as much narrower as the network is.
config::RunConfig narrow(config::RunConfig c) {
  c.model.width_divisor = 4;
  return c;
}

class OpenModules : public Modules {
 public:
  using Modules::backward_at_once;
  using Modules::Modules;
};

// A network in three parts, from whose first block each runs.
struct Thirds {
  explicit Thirds(step::Session& s)
      : blocks(dynamic_cast<models::BlockNet&>(*s.net).blocks()),
        first(layers::cut(*s.net, s.config.model.name, s.task->input_name(s.config), 3).first) {}
  at::Tensor run(size_t part, const at::Tensor& x) const {
    models::Tensors values{x};
    for (size_t b = first[part]; b < first[part + 1]; ++b) values = blocks[b].run(values);
    return values.at(0);
  }
  std::vector<models::Block> blocks;
  std::vector<size_t> first;
};

TEST(ModulesSynthetic, TrueGradientsInThePlaceOfToldOnesAreBackprop) {
  const config::RunConfig c = narrow(small::modules_config("synthetic", 3));
  const data::Batch batch = small::batch(c);
  step::Session reference = small::session(c), s = small::session(c);
  small::load(reference, small::copy_of(*s.net));
  const Thirds net(reference);
  std::vector<at::Tensor> cuts;
  at::Tensor x = batch.images();
  for (const size_t part : {0, 1, 2}) {
    x = net.run(part, x);
    if (part == 2) break;
    x.retain_grad();
    cuts.push_back(x);
  }
  at::cross_entropy_loss(x, batch.labels()).backward();

  const OpenModules modules(s);
  step::StepResult result;
  const auto crossed = modules.backward_at_once(
      s, batch, [&](size_t m, const at::Tensor&) { return cuts[m].grad(); }, result);
  ASSERT_EQ(crossed.size(), 2U);
  for (size_t m = 0; m < 2; ++m) {
    EXPECT_GT(cuts[m].grad().abs().max().item<float>(), 0);
    // The same operations in the same order, but where a block reads its input twice.
    EXPECT_TRUE(at::allclose(crossed[m].grad(), cuts[m].grad(), 1e-4, 1e-7)) << "cut " << m;
  }
  for (const auto& item : s.net->named_parameters()) {
    const at::Tensor& expected = reference.net->named_parameters()[item.key()].grad();
    EXPECT_TRUE(at::allclose(item.value().grad(), expected, 1e-4, 1e-6)) << item.key();
  }
}

TEST(ModulesSynthetic, WhatALowerSynthesiserLearnsStartsFromTheNextOne) {
  const config::RunConfig c = narrow(small::modules_config("synthetic", 3));
  const data::Batch batch = small::batch(c);
  step::Session reference = small::session(c), s = small::session(c);
  small::load(reference, small::copy_of(*s.net));
  const Thirds net(reference);
  const at::Tensor leaf = net.run(0, batch.images()).detach().requires_grad_();
  const at::Tensor above = net.run(1, leaf);
  at::manual_seed(5);
  const at::Tensor told = at::randn_like(above.detach());
  torch::autograd::backward({above}, {told});

  const OpenModules modules(s);
  step::StepResult result;
  const auto signal = [&](size_t m, const at::Tensor& made) {
    return m == 1 ? told : at::zeros_like(made.detach());
  };
  const auto crossed = modules.backward_at_once(s, batch, signal, result);
  EXPECT_TRUE(at::allclose(crossed.at(0).grad(), leaf.grad(), 1e-4, 1e-6));
}

TEST(ModulesSynthetic, BeginsWithZerosAndSeesTheTrueGradientBehindTheLastCut) {
  const config::RunConfig c = narrow(small::plain_modules("synthetic"));
  step::Session s = small::session(c), reference = small::session(c);
  const Values before = small::copy_of(*s.net);
  small::load(reference, before);
  const data::Batch batch = small::batch(c);
  const auto method = find_method("modules").make(s);
  method->full_step(s, batch);

  const small::Halves net = small::halves(reference);
  const at::Tensor cut = small::run_all(net.lower, batch.images()).detach().requires_grad_();
  at::cross_entropy_loss(small::run_all(net.upper, cut), batch.labels()).backward();
  for (const auto& item : s.net->named_parameters()) {
    const at::Tensor moved = (before.at(item.key()) - item.value().detach()) / c.optim.lr;
    if (net.lower_names.contains(item.key())) {
      EXPECT_EQ(moved.abs().max().item<float>(), 0) << item.key();
    } else {
      const at::Tensor expected = reference.net->named_parameters()[item.key()].grad();
      // Weights are of order 1 and a step of this rate rounds to their last place.
      EXPECT_TRUE(at::allclose(moved, expected, 1e-4, 2e-6)) << item.key();
    }
  }
  const auto size = method->state().at("rms.cut0")[0].item<double>();
  const auto expected = cut.grad().square().mean().item<double>();
  EXPECT_GT(expected, 0);
  EXPECT_NEAR(size, expected, 1e-4 * expected);
  method->full_step(s, batch);
  EXPECT_FALSE(at::equal(s.net->named_parameters()["conv1.weight"], before.at("conv1.weight")));
}

TEST(ModulesSynthetic, ComesNearerToTheTrueGradient) {
  config::RunConfig c = narrow(small::plain_modules("synthetic"));
  c.optim.lr = 0.02;
  const auto steps = small::followed(c, 60);
  EXPECT_EQ(steps.front().length, 0) << "it begins with zeros";
  EXPECT_LT(steps.back().missed, 0.5) << "of 1";
}

}  // namespace
}  // namespace adagp::method
