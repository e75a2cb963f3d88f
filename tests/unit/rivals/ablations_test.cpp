// The smallest predictor, and predictors that are shown something else than activations.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/predictor/predictor.h"
#include "unit/predictor/net.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::Collect;
using testing_net::OddNet;

TEST(MlpPredictor, AgreesWithAutogradOverThreeAdamSteps) {
  at::manual_seed(7);
  OddNet net;
  net.to(at::kDouble);
  Config config;
  config.kind = "mlp";
  config.parts.get<rivals::PredictorOptions>().mlp_hidden = 24;
  config.target = "raw";
  config.lr = 1e-3;
  const auto predictor = make_predictor(net.layers, config, 11, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 3);
  const std::vector<std::string> names{"hidden.weight", "hidden.bias", "fc.weight", "fc.bias"};
  std::vector<at::Tensor> p;
  for (const auto& name : names) {
    p.push_back(predictor->state().at("param." + name).clone().requires_grad_());
  }
  EXPECT_EQ(p[0].sizes(), (std::vector<int64_t>{24, 64}));
  torch::optim::Adam adam(p, torch::optim::AdamOptions(config.lr));
  const auto predicted = [&](size_t l) {
    const at::Tensor rows = summaries.rows(l).to(at::kDouble);
    const int64_t cols = net.layers[l]->info().cols();
    return at::linear(at::relu(at::linear(rows, p[0], p[1])), p[2].narrow(0, 0, cols),
                      p[3].narrow(0, 0, cols));
  };
  for (int step = 0; step < 3; ++step) {
    const auto gradients = testing_net::random_gradients(net.layers);
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (size_t l = 0; l < net.layers.size(); ++l) {
      loss = loss + at::mse_loss(predicted(l), as_rows(gradients[l]).to(at::kDouble));
    }
    loss = loss / static_cast<double>(net.layers.size());
    adam.zero_grad();
    loss.backward();
    adam.step();
    EXPECT_NEAR(predictor->observe(summaries, gradients).item<double>(), loss.item<double>(),
                1e-12);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const at::Tensor got = predictor->state().at("param." + names[i]);
    // Adam divides by the root of what is small in places, so roundings grow a little.
    EXPECT_LT((got - p[i]).abs().max().item<double>(), 1e-10) << names[i];
  }
  Collect sink;
  predictor->predict(summaries, {}, sink);
  for (const auto& [l, gradient] : sink.gradients) {
    EXPECT_LT((as_rows(gradient) - predicted(l)).abs().max().item<double>(), 1e-9) << l;
  }
}

TEST(MlpPredictor, CountsItsMultiplications) {
  OddNet net;
  Config config;
  config.kind = "mlp";
  config.parts.get<rivals::PredictorOptions>().mlp_hidden = 10;
  double expected = 0;
  for (const auto* layer : net.layers) {
    expected += static_cast<double>(layer->info().rows() * (10 * 64 + 10 * layer->info().cols()));
  }
  EXPECT_EQ(make_predictor(net.layers, config, 1, 100)->macs(5), expected);
}

// Predictions from these summaries and labels.
std::vector<at::Tensor> predictions(Predictor& predictor, const Summaries& summaries,
                                    const at::Tensor& labels) {
  Collect sink;
  Context context;
  context.targets = {labels};
  predictor.predict(summaries, context, sink);
  std::vector<at::Tensor> out;
  for (const auto& [l, gradient] : sink.gradients) out.push_back(gradient.clone());
  return out;
}

struct Dependence {
  bool on_activations, on_labels, on_the_draw;
};

Dependence dependence(const std::string& input, const std::string& kind) {
  at::manual_seed(5);
  OddNet net;
  Config config;
  config.kind = kind;
  config.input = input;
  const auto predictor = make_predictor(net.layers, config, 3, 100);
  const SummaryForm form = summary_form(config);
  Summaries one(net.layers, form.size, form.pooling), other(net.layers, form.size, form.pooling);
  testing_net::fill(one, 2);
  testing_net::fill(other, 9);
  const at::Tensor labels = at::tensor({0, 1, 1, 3}, at::kLong);
  const at::Tensor other_labels = at::tensor({2, 2, 2, 70}, at::kLong);  // 70 shares cell 6
  const auto differ = [](const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (size_t l = 0; l < a.size(); ++l) {
      if (!at::equal(a[l], b[l])) return true;
    }
    return false;
  };
  const auto at_seed = [&](const Summaries& summaries, const at::Tensor& told, uint64_t seed) {
    at::manual_seed(seed);
    return predictions(*predictor, summaries, told);
  };
  const auto base = at_seed(one, labels, 1);
  return {differ(base, at_seed(other, labels, 1)), differ(base, at_seed(one, other_labels, 1)),
          differ(base, at_seed(one, labels, 2))};
}

TEST(PredictorInput, DependsOnWhatItSaysAndOnNothingElse) {
  for (const std::string kind : {"shared", "mlp", "remap"}) {
    const Dependence usual = dependence("activations", kind);
    EXPECT_TRUE(usual.on_activations && !usual.on_labels && !usual.on_the_draw) << kind;
    const Dependence zeros = dependence("zeros", kind);
    EXPECT_FALSE(zeros.on_activations || zeros.on_labels || zeros.on_the_draw) << kind;
    const Dependence labels = dependence("labels", kind);
    EXPECT_TRUE(!labels.on_activations && labels.on_labels && !labels.on_the_draw) << kind;
    const Dependence noise = dependence("noise", kind);
    // Of the activations it has the size.
    EXPECT_TRUE(noise.on_activations && !noise.on_labels && noise.on_the_draw) << kind;
  }
}

TEST(PredictorInput, IsRefusedForKindsThatLookAtActivations) {
  OddNet net;
  Config config;
  config.kind = "dni";
  config.input = "zeros";
  EXPECT_THROW(make_predictor(net.layers, config, 1, 100), UsageError);
}

}  // namespace
}  // namespace adagp::predictor
