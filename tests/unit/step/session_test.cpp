// What a session makes of a network, also of one that was in a session before.

#include "adagp/engine/step/session.h"

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/engine/step/exact_step.h"
#include "unit/train/small.h"

namespace adagp::step {
namespace {

TEST(Session, ANetworkThatComputedInBf16TrainsInFp32) {
  const config::RunConfig c = small::config("bp");
  const data::Batch batch = small::batch(c);
  at::Tensor trained[2];
  for (const bool before : {false, true}) {
    at::manual_seed(3);
    const auto net = task::build_net(c, *small::task());
    if (before) {
      // What a session in bf16 leaves behind; it needs a GPU.
      for (nn::WeightLayer* layer : nn::collect(*net)) layer->make_bf16_copies();
    }
    Session s = make_session(c, small::task(), net);
    s.net->train();
    s.set_lr(c.optim.lr);
    for (const auto* layer : s.layers) {
      EXPECT_EQ(layer->used_weight().scalar_type(), at::kFloat) << layer->path();
    }
    const at::Tensor first = s.layers[0]->weight.detach().clone();
    backprop_step(s, batch);
    EXPECT_FALSE(at::equal(s.layers[0]->weight.detach(), first)) << "no gradient came to it";
    trained[before ? 1 : 0] = s.layers[0]->weight.detach().clone();
  }
  EXPECT_TRUE(at::equal(trained[0], trained[1]));
}

using NamedGradients = std::map<std::string, at::Tensor>;

NamedGradients network_gradients(const config::RunConfig& c, bool wide) {
  at::manual_seed(3);
  Session s = small::session(c);
  data::Batch batch = small::batch(c);
  if (wide) {
    s.net->to(at::kDouble);
    batch.inputs[0] = batch.inputs[0].to(at::kDouble);
  }
  at::cross_entropy_loss(s.net->run(batch.inputs)[0], batch.labels()).backward();
  NamedGradients out;
  for (const auto& item : s.net->named_parameters()) {
    out[item.key()] = item.value().grad().to(at::kDouble);
  }
  return out;
}

double gradient_distance(const NamedGradients& a, const NamedGradients& b) {
  double apart = 0, norm = 0;
  for (const auto& [name, tensor] : a) {
    apart += (tensor - b.at(name)).square().sum().item<double>();
    norm += b.at(name).square().sum().item<double>();
  }
  return std::sqrt(apart / norm);
}

TEST(Session, ConvolutionsInContiguousMemoryAreAsExactAsUsual) {
  const config::RunConfig usual = small::config("bp");
  config::RunConfig contiguous = usual;
  contiguous.cpu.convolution = "contiguous";
  const NamedGradients exact = network_gradients(usual, true);
  const double rounding = gradient_distance(network_gradients(usual, false), exact);
  ASSERT_GT(rounding, 0);
  // Other orders of the same sums: the error differs, but not by orders of magnitude.
  EXPECT_LT(gradient_distance(network_gradients(contiguous, false), exact), 10 * rounding);
}

// A network that comes again keeps nothing of the key's value before.
TEST(Session, TheKeySaysInWhichMemoryConvolutionsAreComputed) {
  config::RunConfig c = small::config("bp");
  const auto net = task::build_net(c, *small::task());
  for (const std::string layout : {"contiguous", "channels-last"}) {
    c.cpu.convolution = layout;
    const Session s = make_session(c, small::task(), net);
    for (const auto* layer : s.layers) {
      const bool convolution = layer->info().kind == nn::LayerKind::kConv2d;
      EXPECT_EQ(layer->info().contiguous, convolution && layout == "contiguous") << layer->path();
    }
  }
}

}  // namespace
}  // namespace adagp::step
