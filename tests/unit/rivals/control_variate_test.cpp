// Is the control variate unbiased, whatever the predictor says?

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/step/exact_step.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

// Wrong, and not linear in the batch: a fixed direction times a square of what the batch looks
// like.
class Wrong : public predictor::Predictor {
 public:
  explicit Wrong(const std::vector<nn::WeightLayer*>& layers) : layers_(layers) {
    for (const auto* layer : layers) directions_.push_back(at::randn_like(layer->weight.detach()));
  }
  void advance(int64_t) override {}
  at::Tensor learn(const predictor::Summaries&, const std::vector<at::Tensor>&,
                   const predictor::Context&) override {
    return at::zeros({});
  }
  void predict(const predictor::Summaries& summaries, const predictor::Context&,
               predictor::GradientSink& sink) override {
    for (size_t l = 0; l < layers_.size(); ++l) {
      const at::Tensor seen = summaries.rows(l).mean().square();
      sink.accept(l, directions_[l] * (0.01 + seen));
    }
  }
  std::map<std::string, at::Tensor> state() const override { return {}; }
  void load_state(const std::map<std::string, at::Tensor>&) override {}
  int64_t parameter_count() const override { return 0; }
  double macs(int64_t examples) const override { return static_cast<double>(examples); }

 private:
  std::vector<nn::WeightLayer*> layers_;
  std::vector<at::Tensor> directions_;
};

// Plain descent with rate 1: what a step takes away from the weights is its gradient. No batch
// norm, so that the gradient of a batch is the mean over its parts.
config::RunConfig plain_config() {
  config::RunConfig c = small::config("control-variate");
  c.model.name = "vgg11";
  c.model.width_divisor = 16;
  c.batch = 8;
  c.optim.name = "sgd";
  c.optim.lr = 1;
  c.optim.momentum = 0;
  c.optim.nesterov = false;
  c.optim.decay = 0;
  return c;
}

at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& x : tensors) all.push_back(x.detach().reshape({-1}).to(at::kDouble));
  return at::cat(all);
}

TEST(ControlVariate, UnbiasedUnderAWrongPredictor) {
  at::manual_seed(3);
  const config::RunConfig c = plain_config();
  step::Session s = small::session(c);
  auto owner = std::make_unique<Wrong>(s.layers);
  Wrong& wrong = *owner;
  s.predictor = std::move(owner);
  const auto method = find_method("control-variate").make(s);
  const data::Batch batch = small::batch(c);

  std::vector<at::Tensor> weights, start;
  for (const auto& param : s.optimizer->params()) {
    weights.push_back(param.value);
    start.push_back(param.value.detach().clone());
  }
  backprop(s, batch);
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& weight : weights) gradients.push_back(weight.grad().clone());
  s.optimizer->clear_gradients();
  const at::Tensor truth = flat(gradients);

  constexpr int64_t kDraws = 300, kDirections = 8;
  at::Tensor directions = at::randn({kDirections, truth.numel()}, at::kDouble);
  directions[0].copy_(truth);
  double length = 0;
  {  // where the prediction points
    struct Put : predictor::GradientSink {
      void accept(size_t layer, const at::Tensor& g) override { found[layer] = g.clone(); }
      std::map<size_t, at::Tensor> found;
    } sink;
    wrong.predict(*s.summaries, {}, sink);
    std::vector<at::Tensor> pointed;
    for (const at::Tensor& weight : weights) pointed.push_back(at::zeros_like(weight.detach()));
    for (size_t l = 0; l < s.layers.size(); ++l) pointed[s.weight_slot[l]].copy_(sink.found.at(l));
    directions[1].copy_(flat(pointed));
    length = directions[1].norm().item<double>();
  }
  directions = directions / directions.norm(2, {1}, true);

  at::Tensor draws = at::empty({kDraws, kDirections}, at::kDouble);
  for (int64_t i = 0; i < kDraws; ++i) {
    const step::StepResult result = method->cheap_step(s, batch);
    EXPECT_EQ(result.outputs.at(0).size(0), 8);
    draws[i].copy_(directions.mv(flat(start) - flat(weights)));
    const at::NoGradGuard no_grad;
    for (size_t p = 0; p < weights.size(); ++p) weights[p].copy_(start[p]);
  }
  const at::Tensor expected = directions.mv(truth);
  const at::Tensor error = (draws.mean(at::IntArrayRef{0}) - expected).abs();
  const at::Tensor standard = draws.std(0) / std::sqrt(static_cast<double>(kDraws));
  for (int64_t d = 0; d < kDirections; ++d) {
    ASSERT_GT(standard[d].item<double>(), 0) << d;  // the draws do differ
    EXPECT_LT(error[d].item<double>(), 4 * standard[d].item<double>()) << d;
  }
  // The prediction itself is so far off that its bias would be seen.
  EXPECT_GT(std::abs(length - expected[1].item<double>()), 40 * standard[1].item<double>());
}

TEST(ControlVariate, AnExactPredictorLeavesTheMeanGradient) {
  // With h = g of every part, G is the mean of the parts' gradients: the whole batch's.
  config::RunConfig c = plain_config();
  c.predictor.kind = "head-ridge";
  step::Session s = small::session(c);
  const auto method = find_method("control-variate").make(s);
  const data::Batch batch = small::batch(c);
  const size_t head = s.layers.size() - 1;  // exact in this kind of predictor
  const at::Tensor before = s.layers[head]->weight.detach().clone();
  backprop(s, batch);
  const at::Tensor truth = s.layers[head]->weight.grad().clone();
  s.optimizer->clear_gradients();
  method->cheap_step(s, batch);
  const at::Tensor moved = before - s.layers[head]->weight.detach();
  EXPECT_LT(((moved - truth).norm() / truth.norm()).item<double>(), 1e-5);  // fp32
}

TEST(ControlVariate, CostsAForwardPassAndAPartOfABackwardPass) {
  const config::RunConfig c = plain_config();
  step::Session s = small::session(c);
  s.predictor = std::make_unique<Wrong>(s.layers);
  const auto method = find_method("control-variate").make(s);
  const Costs costs(*s.net, *s.task, c);
  plan::BatchContext moment;
  moment.phase = schedule::Phase::kPredict;
  EXPECT_EQ(method->cost(s, costs, moment, 8), 8 * costs.forward() + 2 * costs.backward() + 8);
}

TEST(ControlVariate, SharesThatCutNoEqualPartsAreRefused) {
  const auto refused = [](auto change) {
    config::RunConfig c = plain_config();
    change(c);
    step::Session s = small::session(c);
    EXPECT_THROW(find_method("control-variate").make(s), UsageError);
  };
  refused([](config::RunConfig& c) { c.parts.get<rivals::ControlVariateOptions>().share = 0; });
  refused([](config::RunConfig& c) { c.parts.get<rivals::ControlVariateOptions>().share = 0.3; });
  refused([](config::RunConfig& c) { c.parts.get<rivals::ControlVariateOptions>().share = 1; });
  refused([](config::RunConfig& c) {
    c.parts.get<rivals::ControlVariateOptions>().share = 1.0 / 3;
  });  // 8 examples
  refused([](config::RunConfig& c) { c.head = "exact"; });
  refused([](config::RunConfig& c) { c.accumulate = 2; });
}

}  // namespace
}  // namespace adagp::method
