// Does dni compute its definition, and learn by its gradient?

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/predictor/dni.h"
#include "unit/predictor/net.h"
#include "unit/rivals/pass.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::by_autograd;
using testing_net::Collect;
using testing_net::ConvNet;
using testing_net::Pass;
using testing_net::relative_error;

constexpr Needs kAll{.inputs = true, .outputs = true, .deltas = true};
using State = std::map<std::string, at::Tensor>;

Config dni_config(bool label) {
  Config config;
  config.kind = "dni";
  config.parts.get<rivals::PredictorOptions>().dni_hidden = 7;
  config.parts.get<rivals::PredictorOptions>().dni_label = label;
  config.lr = 1e-2;
  return config;
}

// All parameters random: those that begin with zeros hide the others' gradients.
State randomised(const DniPredictor& predictor) {
  State out;
  for (const auto& [name, tensor] : predictor.state()) {
    out[name] = name.starts_with("param.") ? at::randn_like(tensor) : tensor.clone();
  }
  return out;
}

// delta / rms of a layer, [B, C, ...] like its output: 1x1 convolutions for maps, products for
// vectors, the label's row added everywhere.
at::Tensor slow_guess(const State& p, const std::string& layer, const at::Tensor& output,
                      const at::Tensor& labels) {
  const auto at = [&](const char* name) { return p.at("param." + layer + name); };
  const at::Tensor y = output.dim() == 4 ? output : output.unsqueeze(2).unsqueeze(3);
  const auto kernel = [](const at::Tensor& w) { return w.unsqueeze(2).unsqueeze(3); };
  at::Tensor out = at::conv2d(at::relu(at::conv2d(y, kernel(at(".w1")), at(".b1"))),
                              kernel(at(".w2")), at(".b2"));
  if (p.contains("param." + layer + ".label")) {
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < labels.numel(); ++i) {
      rows.push_back(out[i] + at(".label")[labels[i].item<int64_t>()].unsqueeze(1).unsqueeze(2));
    }
    out = at::stack(rows);
  }
  return out.reshape(output.sizes());
}

class Dni : public ::testing::TestWithParam<bool> {};

TEST_P(Dni, PredictsAndLearnsByItsDefinition) {
  at::manual_seed(8);
  ConvNet net;
  Pass pass(net, kAll);
  DniPredictor predictor(pass.layers, dni_config(GetParam()), 3, 10);
  State p = randomised(predictor);
  predictor.load_state(p);
  pass.run(5);

  // The loss of the first step: every target is the delta over its own RMS.
  at::Tensor loss;
  std::vector<at::Tensor> scales;
  for (auto& [name, tensor] : p) {
    if (name.starts_with("param.")) tensor.requires_grad_();
  }
  for (size_t l = 0; l < 3; ++l) {
    const at::Tensor& delta = pass.activations.delta(l);
    scales.push_back(delta.square().mean().sqrt());
    const at::Tensor guess =
        slow_guess(p, pass.layers[l]->path(), pass.activations.output(l), pass.labels);
    const at::Tensor part = (guess - delta / scales[l]).square().mean() / 3;
    loss = loss.defined() ? loss + part : part;
  }
  loss.backward();
  const double found =
      predictor.observe(pass.summaries, pass.gradients, pass.context).item<double>();
  EXPECT_NEAR(found, loss.item<double>(), 1e-10 * std::abs(found));
  State after = predictor.state();
  for (const auto& [name, before] : p) {
    if (!name.starts_with("param.")) continue;
    // Adam's first moment is (1 - beta1) times the gradient, its first step lr g / (|g| + eps).
    const at::Tensor& g = before.grad();
    ASSERT_GT(g.norm().item<double>(), 0) << name;
    EXPECT_LT(relative_error(after.at("optimizer.mean." + name.substr(6)) / 0.1, g), 1e-9) << name;
    const at::Tensor step = 1e-2 * g / (g.abs() + 1e-8);
    EXPECT_LT(relative_error(before.detach() - after.at(name), step), 1e-6) << name;
  }

  Collect sink;
  predictor.predict(pass.summaries, pass.context, sink);
  for (size_t l = 0; l < 3; ++l) {
    const at::NoGradGuard no_grad;
    const at::Tensor guess =
        slow_guess(after, pass.layers[l]->path(), pass.activations.output(l), pass.labels);
    const at::Tensor expected =
        by_autograd(*pass.layers[l], pass.activations.input(l), guess * scales[l]);
    EXPECT_LT(relative_error(sink.gradients.at(l), expected), 1e-9) << l;
  }
  EXPECT_LT(relative_error(sink.gradients.at(3), pass.gradients[3]), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTheLabel, Dni, ::testing::Bool());

TEST(DniLabel, LabelsThatAreNoneAreRefused) {
  ConvNet net;
  Pass pass(net, kAll);
  DniPredictor predictor(pass.layers, dni_config(true), 3, 10);
  pass.run(5);
  pass.context.targets = {at::zeros({5, 2}, at::kLong)};
  EXPECT_THROW(predictor.observe(pass.summaries, pass.gradients, pass.context), UsageError);
}

}  // namespace
}  // namespace adagp::predictor
