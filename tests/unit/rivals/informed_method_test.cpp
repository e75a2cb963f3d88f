// Predictors that look at activations, in the engine's own steps; and the bias of predictions.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/probes.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/predicted_step.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

class InformedSteps : public ::testing::TestWithParam<const char*> {};

// Asks for what it serves and changes nothing else: a BP batch moves the weights as without it.
TEST_P(InformedSteps, ABpBatchIsThatOfPlainBackprop) {
  config::RunConfig c = small::config();
  c.predictor.kind = GetParam();
  step::Session with = small::session(c), without = small::session(c);
  const auto method = find_method("adagp").make(with), plain = find_method("bp").make(without);
  for (int64_t i = 0; i < 3; ++i) {
    method->full_step(with, small::batch(c, i));
    plain->full_step(without, small::batch(c, i));
  }
  const auto left = small::copy_of(*with.net), right = small::copy_of(*without.net);
  for (const auto& [name, tensor] : left) EXPECT_TRUE(at::equal(tensor, right.at(name))) << name;
  EXPECT_TRUE(with.predictor_loss.isfinite().item<bool>());

  const step::StepResult result = method->cheap_step(with, small::batch(c, 3));
  EXPECT_EQ(result.phase, schedule::Phase::kPredict);
  const auto moved = small::copy_of(*with.net);
  for (const auto* layer : with.layers) {
    const std::string name = layer->path() + ".weight";
    EXPECT_FALSE(at::equal(moved.at(name), left.at(name))) << name;
    EXPECT_TRUE(moved.at(name).isfinite().all().item<bool>()) << name;
  }
}

// The errors are those of the loss that is trained: with label smoothing, the head stays exact.
TEST_P(InformedSteps, TheHeadIsExactUnderLabelSmoothing) {
  config::RunConfig c = small::config();
  c.predictor.kind = GetParam();
  c.label_smoothing = 0.1;
  step::Session s = small::session(c);
  struct Head : predictor::GradientSink {
    explicit Head(size_t place) : place_(place) {}
    void accept(size_t layer, const at::Tensor& g) override {
      if (layer == place_) found = g.clone();
    }
    size_t place_;
    at::Tensor found;
  } sink(s.layers.size() - 1);
  const data::Batch batch = small::batch(c);
  const step::StepResult result = backprop(s, batch, true);
  step::predicted_gradients(s, step::context_of(s, result, {}), sink);
  const at::Tensor truth = predictor::gradient_of(*s.layers.back());
  EXPECT_LT(((sink.found - truth).norm() / truth.norm()).item<double>(), 1e-5);  // fp32
}

INSTANTIATE_TEST_SUITE_P(Kinds, InformedSteps,
                         ::testing::Values("dfa", "dfa-random", "vt", "dni", "head-ridge"));

// Copies at the moment of the tap.
struct Copies : nn::TapSink {
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor&) override {
    inputs[&layer] = input.detach().clone();
  }
  std::map<const nn::WeightLayer*, at::Tensor> inputs;
};

class InformedNets : public ::testing::TestWithParam<const char*> {};

// Inputs are kept without a copy: what follows a layer must not write in them, without a graph that
// would notice.
TEST_P(InformedNets, InputsAreStillThereAfterAGpForwardPass) {
  config::RunConfig c = small::config();
  c.model.name = GetParam();
  c.model.width_divisor = 8;
  c.batch = 4;
  c.predictor.kind = "dfa";
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  Copies copies;
  {
    const at::NoGradGuard no_grad;
    const nn::TapScope taps(copies);
    at::manual_seed(1);  // of dropout
    s.net->run(batch.inputs);
  }
  at::manual_seed(1);
  step::predicted_forward(s, batch);
  for (size_t l = 0; l < s.layers.size(); ++l) {
    EXPECT_TRUE(at::equal(s.activations->input(l), copies.inputs.at(s.layers[l])))
        << s.layers[l]->path();
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, InformedNets,
                         ::testing::Values("resnet8", "vgg8s", "vgg11", "resnet50", "densenet121",
                                           "mobilenet_v2", "inception_v3", "inception_v4"));

TEST(InformedRefusals, MicroBatchesAndTheControlThatFeedsSummaries) {
  config::RunConfig c = small::config();
  c.predictor.kind = "dfa";
  c.accumulate = 2;
  EXPECT_THROW(small::session(c), UsageError);
  c.accumulate = 1;
  c.method = "wrong-input";
  step::Session s = small::session(c);
  const auto method = find_method("wrong-input").make(s);
  EXPECT_THROW(method->full_step(s, small::batch(c)), UsageError);
}

// Predictions that are right on average, and wrong ones, under noise that hides it in each batch.
TEST(Bias, CosineOfTheMeans) {
  at::manual_seed(4);
  const int64_t entries = 2 * ProbeValues::kSampled + 5;  // more than are looked at
  const at::Tensor mean = at::randn({1, entries}, at::kDouble);
  const at::Tensor wrong = at::randn({1, entries}, at::kDouble);
  Probes probes(2, 1), restored(2, 1);
  at::Tensor sum_g = at::zeros_like(mean), sum_h = at::zeros_like(mean);
  constexpr int kBatches = 60;
  const auto show = [](Probes& to, int64_t count, const std::vector<at::Tensor>& g,
                       const std::vector<at::Tensor>& h) {
    to.begin(to.turn(count));
    to.see(g, [&](predictor::GradientSink& sink) {
      for (size_t l = 0; l < h.size(); ++l) sink.accept(l, h[l].clone());
    });
    to.end();
    to.collect();
  };
  for (int i = 0; i <= kBatches; ++i) {
    const at::Tensor g = mean + 3 * at::randn_like(mean), h = mean + 3 * at::randn_like(mean);
    if (i == kBatches / 2) restored.load_state(probes.state());
    show(probes, i, {g, g}, {h, wrong});
    if (i >= kBatches / 2) show(restored, i, {g, g}, {h, wrong});
    if (i == 0) continue;  // the first BP batch is never measured
    sum_g += g;
    sum_h += h;
  }
  const double exact = at::cosine_similarity(sum_h, sum_g).item<double>();
  // A sample of 2^14 entries knows a cosine to about 1 / 128.
  EXPECT_NEAR(probes.last()[0].bias, exact, 4.0 / 128);
  EXPECT_GT(probes.last()[0].bias, 0.7);
  EXPECT_LT(probes.last()[0].cosine, 0.2);
  EXPECT_LT(std::abs(probes.last()[1].bias), 0.05);
  EXPECT_NEAR(*probes.bias(), (probes.last()[0].bias + probes.last()[1].bias) / 2, 1e-12);
  EXPECT_EQ(ProbeValues::names().back(), "bias");
  for (size_t l = 0; l < 2; ++l) EXPECT_EQ(restored.last()[l].list(), probes.last()[l].list());
}

TEST(Bias, OfAFewEntriesIsExact) {
  Probes probes(1, 1);
  const auto g = at::tensor({1.0, 2.0, 3.0}, at::kDouble).view({1, 3});
  const auto h = at::tensor({3.0, 1.0, 0.0}, at::kDouble).view({1, 3});
  for (int64_t i = 0; i < 3; ++i) {
    probes.begin(probes.turn(i));
    const at::Tensor now = i == 1 ? h : g.neg();  // (3,1,0) - (1,2,3) = (2,-1,-3) in the end
    probes.see({g}, [&](predictor::GradientSink& sink) { sink.accept(0, now); });
    probes.end();
    probes.collect();
  }
  // <(2,-1,-3), 2 (1,2,3)> = -18, norms sqrt(14) and 2 sqrt(14).
  EXPECT_NEAR(probes.last()[0].bias, -18.0 / 28.0, 1e-12);
}

}  // namespace
}  // namespace adagp::method
