// What exactly does a GP batch change, method by method?

#include <gtest/gtest.h>

#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/predicted_step.h"
#include "unit/train/small.h"

namespace adagp::method {
namespace {

bool is_tapped_weight(const step::Session& s, const std::string& name) {
  for (const auto* layer : s.layers) {
    if (name == layer->path() + ".weight") return true;
  }
  return false;
}

std::unique_ptr<Method> method_of(step::Session& s) {
  return find_method(s.config.method).make(s);
}

TEST(GpStep, BuildsNoGraphAndMovesTappedWeightsAlone) {
  step::Session s = small::session(small::config());
  const auto before = small::copy_of(*s.net);
  const auto momentum = s.optimizer->state();
  std::map<std::string, at::Tensor> momentum_before;
  for (const auto& [name, tensor] : momentum) momentum_before[name] = tensor.clone();

  const step::StepResult result = method_of(s)->cheap_step(s, small::batch(s.config));
  EXPECT_FALSE(result.outputs[0].requires_grad());
  EXPECT_FALSE(result.loss.requires_grad());
  EXPECT_EQ(result.phase, schedule::Phase::kPredict);
  for (const auto& [name, now] : small::copy_of(*s.net)) {
    const bool statistics =
        name.find("running") != std::string::npos || name.find("num_batches") != std::string::npos;
    const bool moves = is_tapped_weight(s, name) || statistics;
    EXPECT_EQ(at::equal(now, before.at(name)), !moves) << name;
  }
  for (const auto& param : s.optimizer->params()) {
    EXPECT_FALSE(param.value.grad().defined()) << param.name;
    const std::string key = "momentum." + param.name;
    EXPECT_EQ(at::equal(s.optimizer->state().at(key), momentum_before.at(key)),
              !is_tapped_weight(s, param.name))
        << key;
  }
}

TEST(GpStep, AppliesThePredictorsGradientByTheOptimizersRule) {
  config::RunConfig c = small::config();
  c.optim.decay = 0.01;
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  // The prediction, taken on a reference that is not updated.
  step::Session reference = small::session(c);
  struct Keep : predictor::GradientSink {
    void accept(size_t layer, const at::Tensor& gradient) override {
      kept[layer] = gradient.clone();
    }
    std::map<size_t, at::Tensor> kept;
  } sink;
  {
    const at::NoGradGuard no_grad;
    reference.summaries->begin();
    const nn::TapScope taps(*reference.summaries);
    reference.net->run(batch.inputs);
    reference.predictor->predict(*reference.summaries, {}, sink);
  }
  const auto before = small::copy_of(*s.net);
  method_of(s)->cheap_step(s, batch);
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const at::Tensor& w = before.at(s.layers[l]->path() + ".weight");
    // First step from zero momentum: w - lr (g + decay w).
    const at::Tensor expected = w - s.lr * (sink.kept.at(l) + 0.01 * w);
    EXPECT_TRUE(at::allclose(s.layers[l]->weight, expected, 1e-5, 1e-7)) << s.layers[l]->path();
  }
}

TEST(GpStep, HeadFrozenStaysAndExactIsTheTrueGradient) {
  config::RunConfig c = small::config();
  c.head = "frozen";
  step::Session frozen = small::session(c);
  const at::Tensor before = frozen.layers[frozen.heads.at(0)]->weight.detach().clone();
  method_of(frozen)->cheap_step(frozen, small::batch(c));
  EXPECT_TRUE(at::equal(before, frozen.layers[frozen.heads.at(0)]->weight));

  c.head = "exact";
  c.label_smoothing = 0.1;
  step::Session exact = small::session(c), reference = small::session(c);
  method_of(exact)->cheap_step(exact, small::batch(c));
  step::backprop_step(reference,
                      small::batch(c));  // autograd's step: its head starts from the same weights
  const auto* head = exact.layers[exact.heads.at(0)];
  const auto* expected = reference.layers[reference.heads.at(0)];
  EXPECT_FALSE(at::equal(before, head->weight));
  EXPECT_TRUE(at::allclose(head->weight, expected->weight, 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(head->bias, expected->bias, 1e-5, 1e-7));
}

TEST(Controls, SkipChangesNothing) {
  step::Session s = small::session(small::config("skip"));
  const auto before = small::copy_of(*s.net);
  auto method = method_of(s);
  EXPECT_FALSE(method->traits().cheap_needs_data);
  EXPECT_FALSE(method->cheap_step(s, {}).loss.defined());
  for (const auto& [name, now] : small::copy_of(*s.net))
    EXPECT_TRUE(at::equal(now, before.at(name)));
}

TEST(Controls, ZeroLetsMomentumAndDecayAct) {
  config::RunConfig c = small::config("zero");
  c.optim.decay = 0.01;
  step::Session s = small::session(c);
  auto method = method_of(s);
  method->full_step(s, small::batch(c));
  const auto before = small::copy_of(*s.net);
  std::map<std::string, at::Tensor> momentum;
  for (const auto& [name, tensor] : s.optimizer->state()) momentum[name] = tensor.clone();
  method->cheap_step(s, {});
  for (const auto* layer : s.layers) {
    const std::string name = layer->path() + ".weight";
    const at::Tensor& w = before.at(name);
    const at::Tensor v = c.optim.momentum * momentum.at("momentum." + name) + 0.01 * w;
    EXPECT_TRUE(at::allclose(layer->weight, w - s.lr * v, 1e-5, 1e-7)) << name;
  }
}

TEST(Controls, EmaAppliesTheRunningMeanOfTrueGradients) {
  config::RunConfig c = small::config("ema");
  c.optim.decay = 0;
  c.optim.momentum = 0;
  step::Session s = small::session(c), reference = small::session(c);
  auto method = method_of(s);
  // True gradients of the two BP batches, from a reference that takes the same steps.
  std::vector<at::Tensor> mean;
  for (int64_t i = 0; i < 2; ++i) {
    backprop(reference, small::batch(c, i));
    for (size_t l = 0; l < reference.layers.size(); ++l) {
      const at::Tensor g = reference.layers[l]->weight.grad().clone();
      if (i == 0)
        mean.push_back(0.1 * g);
      else
        mean[l] = 0.9 * mean[l] + 0.1 * g;
    }
    update(reference);
    method->full_step(s, small::batch(c, i));
  }
  const auto before = small::copy_of(*s.net);
  method->cheap_step(s, {});
  method->cheap_step(s, {});  // twice: the mean must not be used up by the first
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const at::Tensor& w = before.at(s.layers[l]->path() + ".weight");
    EXPECT_TRUE(at::allclose(s.layers[l]->weight, w - 2 * s.lr * mean[l], 1e-4, 1e-7)) << l;
  }
}

TEST(Controls, SmallBatchIsBackpropOnTheFirstQuarter) {
  config::RunConfig c = small::config("small-batch");
  c.batch = 12;
  step::Session s = small::session(c), reference = small::session(c);
  data::Batch batch = small::batch(c);
  method_of(s)->cheap_step(s, batch);
  batch = batch.part(0, 3);
  step::backprop_step(reference, batch);
  const auto expected = small::copy_of(*reference.net);
  for (const auto& [name, now] : small::copy_of(*s.net))
    EXPECT_TRUE(at::equal(now, expected.at(name)));
}

TEST(Controls, WrongInputPredictsFromTheBatchBefore) {
  config::RunConfig c = small::config("wrong-input");
  step::Session wrong = small::session(c), right = small::session(c);
  const data::Batch one = small::batch(c, 0), two = small::batch(c, 1);
  auto wrong_method = method_of(wrong);
  auto right_method = find_method("adagp").make(right);
  wrong_method->full_step(wrong, one);
  right_method->full_step(right, one);
  // Now wrong-input sees batch two but must predict from batch one's summaries.
  const at::Tensor of_one = right.summaries->rows().clone();
  wrong_method->cheap_step(wrong, two);
  struct Update : predictor::GradientSink {
    explicit Update(step::Session& session) : s(session) {}
    void accept(size_t layer, const at::Tensor& g) override {
      s.optimizer->step_one(s.weight_slot[layer], g);
    }
    step::Session& s;
  } sink(right);
  right.predictor->predict(*right.summaries, {}, sink);
  ASSERT_TRUE(at::equal(of_one, right.summaries->rows()));
  for (size_t l = 0; l < wrong.layers.size(); ++l) {
    EXPECT_TRUE(at::equal(wrong.layers[l]->weight, right.layers[l]->weight)) << l;
  }
}

TEST(BpStep, AccumulationEqualsOneBatchWithoutNorm) {
  config::RunConfig c = small::config("bp");
  c.model.name = "vgg11";
  c.model.width_divisor = 16;
  c.data.synthetic_size = 16;
  step::Session whole = small::session(c);
  c.accumulate = 3;
  step::Session parts = small::session(c);
  data::Batch batch = small::batch(c);
  batch.inputs[0] = at::upsample_nearest2d(batch.images(), {32, 32});
  step::backprop_step(whole, batch);
  step::backprop_step(parts, batch);
  const auto expected = small::copy_of(*whole.net);
  for (const auto& [name, now] : small::copy_of(*parts.net)) {
    EXPECT_TRUE(at::allclose(now, expected.at(name), 1e-4, 1e-6)) << name;
  }
}

}  // namespace
}  // namespace adagp::method
