// Are grouped and depthwise convolutions summarised and predicted as their definition says? Against
// plain loops, from the input image to the predicted weight, in both memory formats.

#include <algorithm>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/predictor/shared.h"
#include "unit/predictor/net.h"

namespace adagp::predictor {
namespace {

// Depthwise; depthwise with two filters per channel; two groups; 1x1 behind them.
struct Separable : torch::nn::Module {
  Separable() {
    convs = {register_module("depthwise", nn::Conv2d(nn::conv(4, 4, 3, 2, 1, false, 4))),
             register_module("doubled", nn::Conv2d(nn::conv(4, 8, 3, 1, 1, false, 4))),
             register_module("grouped", nn::Conv2d(nn::conv(8, 6, 3, 1, 1, false, 2))),
             register_module("pointwise", nn::Conv2d(nn::conv(6, 5, 1, 1, 0, false)))};
    norms = {nn::BatchNorm2d(4), nn::BatchNorm2d(8), nn::BatchNorm2d(6), nn::BatchNorm2d(5)};
    layers = nn::collect(*this);
  }
  std::vector<std::shared_ptr<nn::Conv2dImpl>> convs;
  std::vector<nn::BatchNorm2d> norms;
  std::vector<nn::WeightLayer*> layers;
};

double at4(const at::Tensor& x, int64_t a, int64_t b, int64_t c, int64_t d) {
  return x[a][b][c][d].item<double>();
}

// The convolution's output, by its definition.
at::Tensor slow_convolution(const nn::WeightLayer& layer, const at::Tensor& x) {
  const nn::LayerInfo& info = layer.info();
  const int64_t k = info.kernel[0], stride = info.stride[0], pad = info.padding[0];
  const int64_t height = (x.size(2) + 2 * pad - k) / stride + 1;
  const int64_t width = (x.size(3) + 2 * pad - k) / stride + 1;
  const int64_t inputs = info.in / info.groups, outputs = info.out / info.groups;
  at::Tensor y = at::zeros({x.size(0), info.out, height, width}, at::kDouble);
  auto out = y.accessor<double, 4>();
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t o = 0; o < info.out; ++o) {
      for (int64_t i = 0; i < height * width * inputs * k * k; ++i) {
        const int64_t u = i % k, v = i / k % k, c = i / (k * k) % inputs;
        const int64_t col = i / (k * k * inputs) % width, row = i / (k * k * inputs * width);
        const int64_t h = row * stride - pad + v, w = col * stride - pad + u;
        if (h < 0 || w < 0 || h >= x.size(2) || w >= x.size(3)) continue;
        out[b][o][row][col] +=
            at4(layer.weight, o, c, v, u) * at4(x, b, o / outputs * inputs + c, h, w);
      }
    }
  }
  return y;
}

// One filter's plane: mean over the batch and over windows [floor(i*H/s), ceil((i+1)*H/s)).
std::vector<double> slow_plane(const at::Tensor& y, int64_t filter, int64_t s) {
  std::vector<double> plane;
  const auto first = [s](int64_t i, int64_t size) { return i * size / s; };
  const auto last = [s](int64_t i, int64_t size) { return ((i + 1) * size + s - 1) / s; };
  for (int64_t i = 0; i < s; ++i) {
    for (int64_t j = 0; j < s; ++j) {
      const at::Tensor window = y.select(1, filter)
                                    .slice(1, first(i, y.size(2)), last(i, y.size(2)))
                                    .slice(2, first(j, y.size(3)), last(j, y.size(3)));
      plane.push_back(window.mean().item<double>());
    }
  }
  return plane;
}

// conv 3x3 -> ReLU -> average to p x p -> FC, for one plane and one output of the FC.
double slow_prediction(const std::vector<double>& plane,
                       const std::map<std::string, at::Tensor>& state, const Config& config,
                       int64_t output) {
  const int64_t s = config.summary, p = config.pooled, side = s / p;
  const at::Tensor kernel = state.at("param.conv.weight"), shift = state.at("param.conv.bias");
  const at::Tensor fc = state.at("param.fc.weight")[output];
  double sum = state.at("param.fc.bias")[output].item<double>();
  for (int64_t f = 0; f < config.channels; ++f) {
    for (int64_t cell = 0; cell < s * s; ++cell) {
      const int64_t row = cell / s, col = cell % s;
      double value = shift[f].item<double>();
      for (int64_t u = 0; u < 9; ++u) {
        const int64_t h = row + u / 3 - 1, w = col + u % 3 - 1;
        if (h < 0 || w < 0 || h >= s || w >= s) continue;
        value += at4(kernel, f, 0, u / 3, u % 3) * plane[static_cast<size_t>(h * s + w)];
      }
      const int64_t pooled = row / side * p + col / side;
      const double share = std::max(value, 0.0) / static_cast<double>(side * side);
      sum += share * fc[f * p * p + pooled].item<double>();
    }
  }
  return sum;
}

// Position of weight [o, c, v, u] within its filter, in the order of memory.
int64_t place_in_memory(const at::Tensor& weight, int64_t c, int64_t v, int64_t u) {
  const int64_t k = weight.size(2), inputs = weight.size(1);
  const bool last = !weight.is_contiguous();
  return last ? (v * k + u) * inputs + c : (c * k + v) * k + u;
}

class DepthwisePrediction : public ::testing::TestWithParam<at::MemoryFormat> {};

TEST_P(DepthwisePrediction, EqualsPlainLoopsInTheWeightsLayout) {
  at::manual_seed(21);
  Separable net;
  for (auto* layer : net.layers) layer->weight.set_data(layer->weight.contiguous(GetParam()));
  Config config;
  config.summary = 4;
  config.pooled = 2;
  config.channels = 3;
  SharedPredictor predictor(net.layers, config, 5, 100);
  Summaries summaries(net.layers, config.summary);
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> outputs;
  at::Tensor x = at::randn({2, 4, 9, 7}).contiguous(GetParam());
  summaries.begin();
  for (size_t l = 0; l < net.convs.size(); ++l) {
    outputs.push_back(slow_convolution(*net.layers[l], x));
    const nn::TapScope taps(summaries);
    nn::NormAct act;
    act.relu6 = true;
    x = nn::conv_norm(*net.convs[l], *net.norms[l], x, act);
  }
  summaries.end();
  testing_net::Collect sink;
  predictor.predict(summaries, {}, sink);
  const auto state = predictor.state();

  for (size_t l = 0; l < net.layers.size(); ++l) {
    const at::Tensor &weight = net.layers[l]->weight, found = sink.gradients.at(l);
    ASSERT_EQ(found.sizes(), weight.sizes());
    for (int64_t d = 0; d < 4; ++d) {
      if (weight.size(d) == 1) continue;  // a stride that is never used
      EXPECT_EQ(sink.strides.at(l)[d], weight.stride(d)) << l;
    }
    for (int64_t o = 0; o < weight.size(0); ++o) {
      const auto plane = slow_plane(outputs[l], o, config.summary);
      for (int64_t i = 0; i < net.layers[l]->info().cols(); ++i) {
        const int64_t k = weight.size(2), u = i % k, v = i / k % k, c = i / (k * k);
        const double expected =
            slow_prediction(plane, state, config, place_in_memory(weight, c, v, u));
        // fp32 against fp64, sums of some hundred terms of size 1.
        EXPECT_NEAR(at4(found, o, c, v, u), expected, 1e-5) << l << " filter " << o;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DepthwisePrediction,
                         ::testing::Values(at::MemoryFormat::Contiguous,
                                           at::MemoryFormat::ChannelsLast));

}  // namespace
}  // namespace adagp::predictor
