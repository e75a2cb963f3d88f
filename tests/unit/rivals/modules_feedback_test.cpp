// Modules that go backward from the output's error times a fixed random matrix.

#include "adagp/rivals/method/modules_feedback.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/ops.h"
#include "unit/method/matrices.h"
#include "unit/rivals/halves.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

constexpr int64_t kHiddenUnits = 12;

class TwoLayers : public models::BlockNet {
 public:
  TwoLayers() {
    const nn::Linear lower(small::kPixels, kHiddenUnits), upper(kHiddenUnits, small::kClasses);
    register_module("l0", lower);
    register_module("l1", upper);
    blocks_.push_back(models::block("l0", [lower](const at::Tensor& x) {
      return nn::relu_(nn::Linear(lower)->forward(x.flatten(1)));
    }));
    blocks_.push_back(models::block(
        "l1", [upper](const at::Tensor& x) { return nn::Linear(upper)->forward(x); }));
  }
  std::vector<std::string> heads() const override { return {"l1"}; }
};

TEST(ModulesFeedback, IsTheRuleOfTwoLayersByHand) {
  config::RunConfig c = small::plain_modules("feedback");
  c.seed = 11;
  const auto net = std::make_shared<TwoLayers>();
  net->to(at::kDouble);
  step::Session s = step::make_session(c, small::task(), net);
  s.net->train();
  s.set_lr(c.optim.lr);
  small::Values w = small::copy_of(*s.net);
  const at::Tensor feedback =
      random_feedback(c.seed, 0, small::kClasses, kHiddenUnits).to(at::kDouble);
  const auto method = find_method("modules").make(s);
  // Three steps, so that the feedback must stay what it was.
  at::manual_seed(4);
  for (const data::Batch& batch : small::made_up_batches(3)) {
    method->full_step(s, batch);
    const at::Tensor x = batch.images().flatten(1);
    const at::Tensor a = at::addmm(w.at("l0.bias"), x, w.at("l0.weight").t());
    const at::Tensor h = a.clamp_min(0);
    const at::Tensor z = at::addmm(w.at("l1.bias"), h, w.at("l1.weight").t());
    const at::Tensor truth = at::zeros_like(z).scatter_(1, batch.labels().unsqueeze(1), 1.0);
    const at::Tensor e = (z.softmax(1) - truth) / static_cast<double>(small::kExamples);
    const at::Tensor delta = e.mm(feedback) * a.gt(0);
    const small::Values gradients{{"l0.weight", delta.t().mm(x)},
                                  {"l0.bias", delta.sum(at::IntArrayRef{0})},
                                  {"l1.weight", e.t().mm(h)},
                                  {"l1.bias", e.sum(at::IntArrayRef{0})}};
    for (const auto& [name, gradient] : gradients) {
      EXPECT_GT(gradient.abs().max().item<double>(), 1e-6) << name;
      w.at(name) = w.at(name) - c.optim.lr * gradient;
      const at::Tensor got = s.net->named_parameters()[name].detach();
      // Some dozen roundings of numbers of order 1.
      EXPECT_LT((got - w.at(name)).abs().max().item<double>(), 1e-12) << name;
    }
  }
}

TEST(ModulesFeedback, MatricesDifferAndDependOnTheSeedAlone) {
  const at::Tensor one = random_feedback(1, 0, 10, 400);
  EXPECT_TRUE(at::equal(one, random_feedback(1, 0, 10, 400)));
  EXPECT_FALSE(at::equal(one, random_feedback(2, 0, 10, 400)));
  EXPECT_FALSE(at::equal(one, random_feedback(1, 1, 10, 400)));
  const double bound = 1 / std::sqrt(400.0);
  EXPECT_LE(one.abs().max().item<double>(), bound);
  // The largest of 4000 numbers; all of them below nine tenths have a chance of 1e-183.
  EXPECT_GT(one.abs().max().item<double>(), 0.9 * bound);
}

}  // namespace
}  // namespace adagp::method
