// Do the predictor's references compute what predictor/shared.cpp computes with ATen, but for the
// roundings to bf16 that the tensor cores ask for?

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {
namespace {

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}
at::Tensor low_rounded(const at::Tensor& x) {
  return wide(x.to(at::kFloat).to(at::kBFloat16));
}
double relative(const at::Tensor& got, const at::Tensor& expected) {
  return (wide(got) - wide(expected)).norm().item<double>() /
         std::max(wide(expected).norm().item<double>(), 1e-30);
}
float* float_data(const at::Tensor& x) {
  return x.data_ptr<float>();
}

struct Shape {
  int64_t rows, cols;
};

// Tensors that the reference's pointers lead to.
struct Setting {
  explicit Setting(const std::vector<Shape>& given) : shapes(given) {
    at::manual_seed(5);
    int64_t rows = 0, widest = 0;
    for (const Shape& shape : shapes) {
      rows += shape.rows;
      widest = std::max(widest, shape.cols);
      weight.push_back(at::randn({shape.rows, shape.cols}));
      first.push_back(at::randn({shape.rows, shape.cols}));
      low.push_back(at::zeros({shape.rows, shape.cols}, at::kBFloat16));
    }
    const auto count = static_cast<int64_t>(shapes.size());
    summaries = at::randn({rows, 64}) + 0.3;
    features = at::zeros({rows, kFeatures}, at::kBFloat16);
    parameter = {at::randn({16, 1, 3, 3}) / 3, at::randn({16}) / 3,
                 at::randn({widest, kFeatures}) / 16, at::randn({widest}) / 16};
    for (const at::Tensor& value : parameter) {
      mean.push_back(at::zeros_like(value));
      square.push_back(at::zeros_like(value));
      steps.push_back(at::zeros({1}));
    }
    fc_low = parameter[2].to(at::kBFloat16);
    mean_square = at::zeros({count});
    scale = at::ones({count});
    net = {float_data(parameter[0]), float_data(parameter[1]), float_data(parameter[2]),
           float_data(parameter[3]), fc_low.data_ptr(),        widest,
           float_data(mean_square),  float_data(scale)};
  }

  std::vector<PredictedLayer> layers() const {
    std::vector<PredictedLayer> out;
    int64_t row = 0;
    for (size_t l = 0; l < shapes.size(); ++l) {
      PredictedLayer layer;
      layer.first_row = row;
      layer.rows = shapes[l].rows;
      layer.cols = shapes[l].cols;
      layer.slot.weight = float_data(weight[l]);
      layer.slot.first = float_data(first[l]);
      layer.slot.low = low[l].data_ptr();
      layer.slot.decay = 0.01F;
      row += layer.rows;
      out.push_back(layer);
    }
    return out;
  }
  ParamSlot slot(size_t i) const {
    ParamSlot out;
    out.first = float_data(mean[i]);
    out.second = float_data(square[i]);
    out.steps = float_data(steps[i]);
    return out;
  }
  void make_features() {
    reference::predictor_features(
        {float_data(summaries), summaries.size(0), &net, features.data_ptr()});
  }

  void train(const std::vector<PredictedLayer>& on, float lr, float decay, bool normalise) {
    make_features();
    TrainArgs args;
    args.layers = on.data();
    args.count = static_cast<int64_t>(on.size());
    args.net = net;
    args.conv_weight = slot(0);
    args.conv_bias = slot(1);
    args.fc_weight = slot(2);
    args.fc_bias = slot(3);
    args.rule.kind = UpdateRule::Kind::kAdam;
    args.rule.lr = &lr;
    args.summaries = float_data(summaries);
    args.features = features.data_ptr();
    args.rows = summaries.size(0);
    args.rms_decay = decay;
    args.normalise = normalise;
    args.seen = &seen;
    args.loss = &loss;
    reference::predictor_train(args);
  }

  std::vector<Shape> shapes;
  std::vector<at::Tensor> weight, first, low;
  std::vector<at::Tensor> parameter, mean, square, steps;  // conv weight, conv bias, fc, fc bias
  at::Tensor summaries, features, fc_low, mean_square, scale;
  PredictorNet net;
  uint8_t seen = 0;
  float loss = -1;
};

at::Tensor features_of(const at::Tensor& summaries, const at::Tensor& weight,
                       const at::Tensor& bias) {
  const at::Tensor x =
      at::conv2d(wide(summaries).view({-1, 1, 8, 8}), weight, bias, {1, 1}, {1, 1});
  return at::adaptive_avg_pool2d(at::relu(x), {4, 4}).flatten(1);
}

TEST(PredictorReference, FeaturesAreConvolutionReluAndPool) {
  Setting s({{40, 9}, {3, 27}});
  s.make_features();
  const at::Tensor expected = features_of(s.summaries, wide(s.parameter[0]), wide(s.parameter[1]));
  EXPECT_TRUE(at::equal(wide(s.features), low_rounded(expected)));
}

TEST(PredictorReference, UpdateIsAStepOnTheScaledPrediction) {
  Setting s({{40, 9}, {3, 27}, {65, 147}});
  s.scale.copy_(at::tensor({0.5F, 2.0F, 7.0F}));
  s.make_features();
  const std::vector<at::Tensor> before = {s.weight[0].clone(), s.weight[2].clone()};
  const std::vector<at::Tensor> momentum = {s.first[0].clone(), s.first[2].clone()};
  const at::Tensor untouched = s.weight[1].clone();
  // The second layer sits out.
  const auto all = s.layers();
  const std::vector<PredictedLayer> some = {all[0], all[2]};
  const int ids[2] = {0, 2};
  const float lr = 0.1F;
  UpdateRule rule;
  rule.lr = &lr;
  reference::predict_update({some.data(), ids, 2, &s.net, s.features.data_ptr(), rule});

  for (int i = 0; i < 2; ++i) {
    const int l = ids[i];
    const auto& layer = some[static_cast<size_t>(i)];
    const at::Tensor input = wide(s.features).narrow(0, layer.first_row, layer.rows);
    const at::Tensor fc = wide(s.fc_low).narrow(0, 0, layer.cols);
    const at::Tensor bias = wide(s.parameter[3]).narrow(0, 0, layer.cols);
    const at::Tensor gradient = wide(s.scale[l]) * (input.mm(fc.t()) + bias);
    const at::Tensor velocity = static_cast<double>(rule.momentum) * wide(momentum[i]) + gradient +
                                static_cast<double>(layer.slot.decay) * wide(before[i]);
    const at::Tensor expected = wide(before[i]) - static_cast<double>(lr) * velocity;
    // The reference rounds gradient, momentum and weight to fp32: 6e-8 each.
    EXPECT_LT(relative(s.first[static_cast<size_t>(l)], velocity), 1e-6);
    EXPECT_LT(relative(s.weight[static_cast<size_t>(l)], expected), 1e-6);
    EXPECT_TRUE(at::equal(s.low[static_cast<size_t>(l)],
                          s.weight[static_cast<size_t>(l)].to(at::kBFloat16)));
  }
  EXPECT_TRUE(at::equal(s.weight[1], untouched));
}

// shared.cpp's learn() in double, with operands of the products rounded to bf16.
struct Reference {
  explicit Reference(const Setting& s) {
    for (const at::Tensor& value : s.parameter) {
      parameter.push_back(value.clone());
      mean.push_back(wide(at::zeros_like(value)));
      square.push_back(wide(at::zeros_like(value)));
    }
    mean_square = wide(at::zeros({static_cast<int64_t>(s.shapes.size())}));
  }

  // Returns the loss.
  double observe(const Setting& s, const std::vector<at::Tensor>& gradients, double decay,
                 double lr) {
    const at::Tensor conv = wide(parameter[0]).requires_grad_();
    const at::Tensor conv_bias = wide(parameter[1]).requires_grad_();
    const at::Tensor all = features_of(s.summaries, conv, conv_bias);
    const at::Tensor inputs = low_rounded(all.detach());
    const at::Tensor fc = low_rounded(parameter[2]);
    at::Tensor input_gradient = at::zeros_like(inputs);
    at::Tensor fc_gradient = at::zeros_like(fc), bias_gradient = wide(at::zeros_like(parameter[3]));
    double loss = 0;
    int64_t row = 0;
    for (size_t l = 0; l < s.shapes.size(); ++l) {
      const auto [rows, cols] = s.shapes[l];
      const double entries = static_cast<double>(rows * cols);
      const double share = 2.0 / (static_cast<double>(s.shapes.size()) * entries);
      const at::Tensor target = wide(gradients[l]);
      const at::Tensor now = target.square().mean();
      at::Tensor average = mean_square[static_cast<int64_t>(l)];
      const at::Tensor moved = steps == 0 ? now : decay * average + (1 - decay) * now;
      // Stored in fp32: an error near a tie would else be rounded to another bf16.
      const at::Tensor scale = wide((moved + 1e-30).sqrt().to(at::kFloat));
      average.copy_(moved.to(at::kFloat));
      const at::Tensor input = inputs.narrow(0, row, rows), weight = fc.narrow(0, 0, cols);
      const at::Tensor exact =
          input.mm(weight.t()) + wide(parameter[3]).narrow(0, 0, cols) - target / scale;
      loss += 0.5 * share * exact.square().sum().item<double>();
      const at::Tensor error = low_rounded(exact);
      fc_gradient.narrow(0, 0, cols).add_(error.t().mm(input), share);
      bias_gradient.narrow(0, 0, cols).add_(error.sum(0), share);
      input_gradient.narrow(0, row, rows).add_(error.mm(weight), share);
      row += rows;
    }
    const auto conv_gradients =
        torch::autograd::grad({all}, {conv, conv_bias}, {input_gradient}, false);
    ++steps;
    adam({conv_gradients[0], conv_gradients[1], fc_gradient, bias_gradient}, lr);
    return loss;
  }

  void adam(const std::vector<at::Tensor>& gradients, double lr) {
    const double beta1 = 0.9F, beta2 = 0.999F;
    for (size_t i = 0; i < 4; ++i) {
      mean[i].mul_(beta1).add_(gradients[i], 1 - beta1);
      square[i].mul_(beta2).addcmul_(gradients[i], gradients[i], 1 - beta2);
      const double correction = std::sqrt(1 - std::pow(beta2, steps));
      const at::Tensor scale = square[i].sqrt() / correction + static_cast<double>(1e-8F);
      const at::Tensor change = mean[i] / scale * (lr / (1 - std::pow(beta1, steps)));
      parameter[i].copy_(wide(parameter[i]) - change);
    }
  }

  std::vector<at::Tensor> parameter, mean, square;
  at::Tensor mean_square;
  int steps = 0;
};

TEST(PredictorReference, TrainsLikeTheReferenceOverThreeSteps) {
  Setting s({{40, 9}, {3, 27}, {65, 147}, {10, 64}});
  Reference reference(s);
  const float lr = 0.01F, decay = 0.95F;
  for (int step = 0; step < 3; ++step) {
    auto layers = s.layers();
    std::vector<at::Tensor> gradients;
    for (size_t l = 0; l < layers.size(); ++l) {
      // Every other one in bf16, and of quite another size.
      at::Tensor g = at::randn({s.shapes[l].rows, s.shapes[l].cols}) * (l % 2 == 0 ? 1e-3 : 10.0);
      if (l % 2 == 0) g = g.to(at::kBFloat16);
      gradients.push_back(g);
      layers[l].slot.gradient = g.data_ptr();
      layers[l].slot.gradient_type = l % 2 == 0 ? Type::kBFloat16 : Type::kFloat;
    }
    s.train(layers, lr, decay, /*normalise=*/true);
    const double expected = reference.observe(s, gradients, decay, lr);

    // fp32 state: 6e-8 a rounding. From the second step on a weight may stand an fp32 step aside
    // and round to another bf16, which moves a product by 4e-3 of one of its 256 summands.
    const double tolerance = step == 0 ? 1e-6 : 1e-4;
    EXPECT_NEAR(s.loss, expected, tolerance * expected) << step;
    EXPECT_EQ(s.seen, 1);
    EXPECT_LT(relative(s.mean_square, reference.mean_square), 1e-6);
    EXPECT_LT(relative(s.scale, (reference.mean_square + 1e-30).sqrt()), 1e-6);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_LT(relative(s.mean[i], reference.mean[i]), tolerance) << step << ": mean " << i;
      EXPECT_LT(relative(s.square[i], reference.square[i]), tolerance) << step << ": square " << i;
      EXPECT_LT(relative(s.parameter[i], reference.parameter[i]), tolerance) << step << ": " << i;
      EXPECT_EQ(s.steps[i].item<float>(), static_cast<float>(step + 1));
    }
    EXPECT_TRUE(at::equal(s.fc_low, s.parameter[2].to(at::kBFloat16)));
  }
}

TEST(PredictorReference, RawTargetLeavesScaleAndMean) {
  Setting s({{5, 9}});
  auto layers = s.layers();
  const at::Tensor gradient = at::randn({5, 9}), fc = wide(s.fc_low), bias = wide(s.parameter[3]);
  layers[0].slot.gradient = gradient.data_ptr();
  s.train(layers, 0.01F, 0.95F, /*normalise=*/false);
  EXPECT_EQ(s.scale.item<float>(), 1.0F);
  EXPECT_EQ(s.mean_square.item<float>(), 0.0F);
  const at::Tensor prediction = wide(s.features).mm(fc.t()) + bias;
  EXPECT_NEAR(s.loss, (prediction - wide(gradient)).square().mean().item<double>(), 1e-5);
}

}  // namespace
}  // namespace adagp::cuda
