// Gradients at weights ahead: is it Nesterov's momentum where it should be?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/method/matrices.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

std::vector<at::Tensor> xgrad_weights(step::Session& s) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& p : s.net->parameters()) out.push_back(p.detach().clone());
  return out;
}

config::RunConfig xgrad_config(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.optim.momentum = 0.9;
  c.optim.decay = 0;
  c.optim.lr = 0.05;
  return c;
}

TEST(XGrad, WithTheMomentumAsItsFactorIsNesterov) {
  config::RunConfig ahead = xgrad_config("xgrad"), nesterov = xgrad_config("bp");
  ahead.parts.get<rivals::XGradOptions>().factor = ahead.optim.momentum;
  nesterov.optim.nesterov = true;
  at::manual_seed(3);
  step::Session a = small::matrices_session(ahead);
  at::manual_seed(3);
  step::Session b = small::matrices_session(nesterov);
  const auto start = xgrad_weights(a);
  const auto xgrad = find_method("xgrad").make(a), bp = find_method("bp").make(b);
  for (const data::Batch& batch : small::made_up_batches(20)) {
    xgrad->full_step(a, batch);
    bp->full_step(b, batch);
  }
  // PyTorch's form keeps the weights ahead: w - momentum * lr * v.
  a.optimizer->look_ahead(ahead.optim.momentum);
  const auto got = xgrad_weights(a), expected = xgrad_weights(b);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_GT((got[i] - start[i]).abs().max().item<double>(), 1e-2);
    EXPECT_LT((got[i] - expected[i]).abs().max().item<double>(), 1e-13);  // roundings of 20 steps
  }
}

// Adam's direction, by the formula of its paper.
TEST(XGrad, LooksAheadAlongAdamsMoments) {
  config::RunConfig c = xgrad_config("xgrad");
  c.optim.name = "adam";
  c.optim.lr = 0.01;
  step::Session s = small::matrices_session(c);
  const auto method = find_method("xgrad").make(s);
  const auto before_any = xgrad_weights(s);
  s.optimizer->look_ahead(1);
  EXPECT_TRUE(at::equal(xgrad_weights(s)[0], before_any[0]));
  for (const data::Batch& batch : small::made_up_batches(3)) method->full_step(s, batch);
  const auto state = s.optimizer->state();
  const at::Tensor m = state.at("mean.l0.weight") / (1 - std::pow(c.optim.beta1, 3));
  const at::Tensor v = state.at("square.l0.weight") / (1 - std::pow(c.optim.beta2, 3));
  const at::Tensor expected = xgrad_weights(s)[0] - 2 * c.optim.lr * m / (v.sqrt() + c.optim.eps);
  s.optimizer->look_ahead(2);
  // The count of steps is kept in fp32, and so are the corrections.
  EXPECT_LT((xgrad_weights(s)[0] - expected).abs().max().item<double>(), 1e-6);
}

TEST(XGrad, NeedsAMomentum) {
  config::RunConfig c = xgrad_config("xgrad");
  c.optim.momentum = 0;
  step::Session s = small::matrices_session(c);
  EXPECT_THROW(find_method("xgrad").make(s), UsageError);
}

}  // namespace
}  // namespace adagp::method
