// Is the remap predictor the term project's network, and does it lay its vector over gradients as
// described?

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/predictor/remap.h"
#include "unit/predictor/net.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::Collect;
using testing_net::OddNet;

Config remap_config(int64_t outputs, const std::string& tail) {
  Config config;
  config.kind = "remap";
  config.remap_channels = 4;
  config.remap_outputs = outputs;
  config.tail = tail;
  return config;
}

Summaries filled(OddNet& net, int64_t batch) {
  const SummaryForm form = summary_form(remap_config(1, "last"));
  Summaries summaries(net.layers, form.size, form.pooling);
  testing_net::fill(summaries, batch);
  return summaries;
}

// As networks have them in memory.
void make_channels_last(OddNet& net) {
  for (auto* layer : net.layers) {
    if (layer->weight.dim() != 4) continue;
    layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

at::Tensor in_pytorchs_order(const at::Tensor& gradient) {
  return gradient.contiguous().view({-1});
}

// The term project's network, from PyTorch's modules.
struct TheirNet : torch::nn::Module {
  TheirNet(int64_t channels, int64_t outputs) : fc(16 * channels, outputs) {
    for (int64_t b = 0; b < 4; ++b) {
      // The norm behind it takes a bias out again.
      convs.emplace_back(
          torch::nn::Conv2dOptions(b == 0 ? 1 : channels, channels, 3).padding(1).bias(false));
      norms.emplace_back(channels);
      register_module("conv" + std::to_string(b), convs.back());
      register_module("norm" + std::to_string(b), norms.back());
    }
    register_module("fc", fc);
    to(at::kDouble);
  }
  void copy(const std::map<std::string, at::Tensor>& state) {
    const at::NoGradGuard no_grad;
    for (size_t b = 0; b < convs.size(); ++b) {
      const std::string block = "param.block" + std::to_string(b);
      convs[b]->weight.copy_(state.at(block + ".conv"));
      norms[b]->weight.copy_(state.at(block + ".gain"));
      norms[b]->bias.copy_(state.at(block + ".shift"));
    }
    fc->weight.copy_(state.at("param.fc.weight"));
    fc->bias.copy_(state.at("param.fc.bias"));
  }
  // The mean over the rows comes last.
  at::Tensor vector(const at::Tensor& rows) {
    at::Tensor x = rows.view({-1, 1, 4, 4});
    for (size_t b = 0; b < convs.size(); ++b) x = at::relu(norms[b]->forward(convs[b]->forward(x)));
    return fc->forward(x.flatten(1)).mean(at::IntArrayRef{0});
  }
  std::vector<torch::nn::Conv2d> convs;
  std::vector<torch::nn::BatchNorm2d> norms;
  torch::nn::Linear fc;
};

// Tail "last", one element at a time.
at::Tensor laid_over(const at::Tensor& vector, int64_t length) {
  const int64_t n = vector.numel();
  std::vector<int64_t> from;
  for (int64_t i = 0; i < length; ++i) {
    const bool covered = length <= n || i < length / n * n;
    from.push_back(covered ? i % n : n - 1);
  }
  return vector.index_select(0, at::tensor(from, at::kLong));
}

TEST(Remap, AgreesWithPyTorchOverThreeAdamSteps) {
  at::manual_seed(6);
  OddNet net;
  net.to(at::kDouble);
  make_channels_last(net);
  Config config = remap_config(20, "last");
  config.lr = 1e-3;
  const auto predictor = make_predictor(net.layers, config, 11, 100);
  const Summaries summaries = filled(net, 3);
  TheirNet theirs(4, 20);
  theirs.copy(predictor->state());
  torch::optim::Adam adam(theirs.parameters(), torch::optim::AdamOptions(config.lr));
  for (int step = 0; step < 3; ++step) {
    const auto gradients = testing_net::random_gradients(net.layers);
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (size_t l = 0; l < net.layers.size(); ++l) {
      const at::Tensor vector = theirs.vector(summaries.rows(l));
      const at::Tensor target = in_pytorchs_order(gradients[l]);
      loss = loss + at::mse_loss(laid_over(vector, target.numel()), target);
      at::Tensor& bias = net.layers[l]->bias;
      if (!bias.defined()) continue;
      bias.mutable_grad() = at::randn_like(bias.detach());
      loss = loss + at::mse_loss(laid_over(vector, bias.numel()), bias.grad());
    }
    adam.zero_grad();
    loss.backward();
    adam.step();
    // Doubles; the FC and the mean over rows change places.
    EXPECT_NEAR(predictor->observe(summaries, gradients).item<double>(), loss.item<double>(),
                1e-10);
  }
  theirs.eval();
  Collect sink;
  predictor->predict(summaries, {}, sink);
  ASSERT_EQ(sink.gradients.size(), net.layers.size());
  for (const auto& [l, gradient] : sink.gradients) {
    const nn::WeightLayer& layer = *net.layers[l];
    const at::Tensor vector = theirs.vector(summaries.rows(l)).detach();
    EXPECT_EQ(sink.strides.at(l), layer.weight.strides().vec()) << l;
    // Adam divides by the root of what is small in places, so roundings grow a little.
    EXPECT_TRUE(
        at::allclose(in_pytorchs_order(gradient), laid_over(vector, gradient.numel()), 0, 1e-8))
        << l;
    ASSERT_EQ(sink.biases.contains(l), layer.bias.defined()) << l;
    if (!layer.bias.defined()) continue;
    EXPECT_TRUE(at::allclose(sink.biases.at(l), laid_over(vector, layer.bias.numel()), 0, 1e-8))
        << l;
  }
}

// Gradient sizes of OddNet: 12, 150, 108, 45, 21.
std::map<size_t, at::Tensor> predictions(OddNet& net, const std::string& tail) {
  at::manual_seed(1);
  auto predictor = make_predictor(net.layers, remap_config(20, tail), 3, 100);
  const Summaries summaries = filled(net, 2);
  Collect sink;
  predictor->predict(summaries, {}, sink);
  std::map<size_t, at::Tensor> out;
  for (const auto& [l, gradient] : sink.gradients) out[l] = in_pytorchs_order(gradient);
  return out;
}

TEST(Remap, RepeatsTheVectorAndFillsTheTail) {
  OddNet net;
  make_channels_last(net);
  const auto last = predictions(net, "last"), cyclic = predictions(net, "cyclic");
  for (const auto& [l, g] : last) {
    const int64_t whole = g.numel() / 20 * 20;
    for (int64_t i = 20; i < whole; ++i) EXPECT_EQ(g[i].item<float>(), g[i % 20].item<float>());
    if (g.numel() < 20) continue;
    for (int64_t i = whole; i < g.numel(); ++i) {
      EXPECT_EQ(g[i].item<float>(), g[19].item<float>()) << l;
      EXPECT_EQ(cyclic.at(l)[i].item<float>(), cyclic.at(l)[i % 20].item<float>()) << l;
    }
  }
  EXPECT_EQ(last.at(0).numel(), 12);
}

// Rows of 4x4 pixels, one for each channel of a convolution and one for a linear layer, through
// four convolutions (1 and then three times 4 channels to 4); once a layer 64 numbers times 20.
TEST(Remap, CountsItsMultiplications) {
  OddNet net;
  const auto predictor = make_predictor(net.layers, remap_config(20, "last"), 3, 100);
  const double rows = 4 + 2 + 6 + 5 + 1;
  EXPECT_EQ(predictor->macs(7), rows * 16 * 9 * (4 + 3 * 4 * 4) + 5 * 64 * 20);
  EXPECT_EQ(predictor->parameter_count(), 9 * (4 + 3 * 16) + 4 * 2 * 4 + 64 * 20 + 20);
}

TEST(Remap, LearnsAndGoesOnFromItsState) {
  at::manual_seed(1);
  OddNet net;
  Config config = remap_config(200, "last");
  config.parts.get<rivals::PredictorOptions>().remap_target = "rms";
  config.lr = 1e-2;
  RemapPredictor one(net.layers, config, 3, 100), other(net.layers, config, 4, 100);
  const Summaries summaries = filled(net, 2);
  const auto gradients = testing_net::random_gradients(net.layers);
  const double first = one.observe(summaries, gradients).item<double>();
  double final_loss = first;
  for (int i = 0; i < 60; ++i) final_loss = one.observe(summaries, gradients).item<double>();
  EXPECT_LT(final_loss, 0.5 * first);

  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : one.state()) saved[name] = tensor.clone();
  other.load_state(saved);
  EXPECT_EQ(one.observe(summaries, gradients).item<double>(),
            other.observe(summaries, gradients).item<double>());
  saved.erase(std::find_if(saved.begin(), saved.end(),
                           [](const auto& entry) { return entry.first.starts_with("rms."); }));
  EXPECT_THROW(other.load_state(saved), DataError);
}

// Targets are divided by their size only where that is asked for.
TEST(Remap, TargetsAreGradientsUnlessAsked) {
  for (const bool rms : {false, true}) {
    at::manual_seed(1);
    OddNet net;
    Config config = remap_config(200, "last");
    if (rms) config.parts.get<rivals::PredictorOptions>().remap_target = "rms";
    RemapPredictor predictor(net.layers, config, 3, 100);
    const Summaries summaries = filled(net, 2);
    auto gradients = testing_net::random_gradients(net.layers);
    for (at::Tensor& gradient : gradients) gradient.mul_(1000);
    // Five layers whose mean squares are 10^6 or, divided, 1; predictions are much smaller.
    const double loss = predictor.observe(summaries, gradients).item<double>();
    EXPECT_NEAR(std::log10(loss / 5), rms ? 0 : 6, 0.5);
  }
}

step::Session session_of(const std::string& kind) {
  config::RunConfig c = small::config();
  c.predictor = remap_config(50, "last");
  c.predictor.kind = kind;
  c.predictor.lr = 1e-3;
  c.optim.momentum = c.optim.decay = 0;
  return small::session(c);
}

TEST(Remap, MovesBiasesInGpBatchesAndOtherKindsDoNot) {
  for (const std::string kind : {"remap", "shared"}) {
    step::Session s = session_of(kind);
    const auto method = method::find_method("adagp").make(s);
    method->full_step(s, small::batch(s.config));
    const auto before = small::copy_of(*s.net);
    method->cheap_step(s, small::batch(s.config, 1));
    const auto after = small::copy_of(*s.net);
    Collect again;  // what it predicted: neither predictor nor summaries have changed since
    s.predictor->predict(*s.summaries, {}, again);
    EXPECT_EQ(again.biases.empty(), kind == "shared");
    size_t biases = 0;
    for (size_t l = 0; l < s.layers.size(); ++l) {
      if (!s.layers[l]->bias.defined()) continue;
      ++biases;
      const std::string name = s.layers[l]->path() + ".bias";
      at::Tensor expected = before.at(name);
      if (kind == "remap") expected = expected - s.lr * again.biases.at(l);
      EXPECT_TRUE(at::allclose(after.at(name), expected, 0, 1e-7)) << name;  // fp32
      EXPECT_EQ(at::equal(after.at(name), before.at(name)), kind == "shared") << name;
    }
    EXPECT_GT(biases, 0U);
    EXPECT_TRUE(at::equal(after.at("bn1.bias"), before.at("bn1.bias")));  // norms rest
  }
}

// The first step of Adam moves a parameter by the rate, whatever its gradient.
TEST(Remap, ItsRateFallsWithThePlateau) {
  const auto moved = [](const std::string& kind, double plateau) {
    step::Session s = session_of(kind);
    s.plateau = plateau;
    const at::Tensor before = s.predictor->state().at("param.fc.bias").clone();
    method::find_method("adagp").make(s)->full_step(s, small::batch(s.config));
    return (s.predictor->state().at("param.fc.bias") - before).abs().max().item<double>();
  };
  EXPECT_NEAR(moved("remap", 1), 1e-3, 1e-5);
  EXPECT_NEAR(moved("remap", 0.25), 0.25e-3, 1e-5);
  EXPECT_NEAR(moved("shared", 0.25), 1e-3, 1e-5);
}

TEST(Predictors, UnknownKindNamesTheNearest) {
  OddNet net;
  Config config;
  config.kind = "shard";
  try {
    make_predictor(net.layers, config, 0, 1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'shared'"), std::string::npos);
  }
}

}  // namespace
}  // namespace adagp::predictor
