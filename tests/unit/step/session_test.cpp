// A network that was in a session before.

#include "adagp/engine/step/session.h"

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

}  // namespace
}  // namespace adagp::step
