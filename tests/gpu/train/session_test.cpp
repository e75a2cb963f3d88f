// A network that was in a session before, in another precision.

#include "adagp/engine/step/session.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

TEST_F(GpuTest, ANetworkTrainedInBf16GoesOnInFp32) {
  config::RunConfig c = test::world("bf16");
  c.method = "bp";
  const auto net = task::build_net(c, *test::task());
  for (const char* precision : {"bf16", "fp32", "bf16"}) {
    c.precision = precision;
    step::Session s = step::make_session(c, test::task(), net);
    s.net->train();
    s.set_lr(c.optim.lr);
    const auto type = std::string(precision) == "bf16" ? at::kBFloat16 : at::kFloat;
    for (const auto* layer : s.layers) {
      EXPECT_EQ(layer->used_weight().scalar_type(), type) << layer->path();
    }
    const at::Tensor before = s.layers[0]->weight.detach().clone();
    step::backprop_step(s, test::batch(c));
    EXPECT_FALSE(at::equal(s.layers[0]->weight.detach(), before)) << precision;
  }
}

}  // namespace
}  // namespace adagp
