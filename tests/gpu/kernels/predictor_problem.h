#pragma once
// A predictor with layers of given shapes, twice: on the host for the references, on the device for
// the kernels. Both are drawn from the same seed.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "adagp/gpu/cuda/predictor/predictor.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {

// A vector on the host, or its copy on the device.
template <typename T>
class Array {
 public:
  Array(const std::vector<T>& values, bool on_device) : host_(values) {
    if (on_device) device_ = std::make_unique<Device<T>>(values);
  }
  T* get() { return device_ ? device_->get() : host_.data(); }
  std::vector<T> values() const { return device_ ? device_->host() : host_; }

 private:
  std::vector<T> host_;
  std::unique_ptr<Device<T>> device_;
};

struct LayerShape {
  int64_t rows = 1, cols = 1;
  cuda::Type gradient = cuda::Type::kBFloat16;
  bool low = true;
  int64_t shift = 0;  // the arrays begin so many elements behind a multiple of 16 bytes
};

constexpr float kGuard = 12345.0F;  // around every array of a layer
constexpr int64_t kGuards = 8;

class Problem {
 public:
  // state: how many arrays of optimizer state the layers have. Filters have a gap of one row
  // between layers; the last layer's id is `count - 1 + id_gap`.
  Problem(const std::vector<LayerShape>& shapes, bool on_device, int state = 1, int id_gap = 0)
      : on_device_(on_device), shapes_(shapes), id_gap_(id_gap) {
    int64_t widest = 0;
    for (const auto& shape : shapes) widest = std::max(widest, shape.cols);
    make_net(widest);
    for (size_t l = 0; l < shapes.size(); ++l) make_layer(shapes[l], l, state);
    summaries = floats(normal(static_cast<size_t>(rows * 64), 7, 0.3F));
    features = low_zeros(rows * cuda::kFeatures);
    lr = floats({0.01F});
    loss = floats({-1.0F});
    seen = std::make_unique<Array<uint8_t>>(std::vector<uint8_t>(1), on_device_);
  }

  void make_features() {
    const cuda::FeaturesArgs args{summaries->get(), rows, &net, features->get(), behind_pool};
    if (on_device_) {
      cuda::predictor_features(args, stream);
    } else {
      cuda::reference::predictor_features(args);
    }
  }

  void predict(cuda::UpdateRule rule) {
    std::vector<int> ids;
    for (size_t l = 0; l < layers.size(); ++l) ids.push_back(id(l));
    rule.lr = lr->get();
    const cuda::PredictArgs args{
        layers.data(), ids.data(), int64_t(layers.size()), &net, features->get(), rule, early};
    if (on_device_) {
      cuda::predict_update(args, stream);
    } else {
      cuda::reference::predict_update(args);
    }
  }

  // One step on the layers' gradients; the features are made anew, as in training.
  void train(cuda::UpdateRule rule, bool normalise = true) {
    make_features();
    rule.lr = lr->get();
    cuda::TrainArgs args;
    args.layers = layers.data();
    args.count = int64_t(layers.size());
    args.net = net;
    args.conv_weight = params[0].slot;
    args.conv_bias = params[1].slot;
    args.fc_weight = params[2].slot;
    args.fc_bias = params[3].slot;
    args.rule = rule;
    args.summaries = summaries->get();
    args.features = features->get();
    args.rows = rows;
    args.normalise = normalise;
    args.seen = seen->get();
    args.loss = loss->get();
    args.behind_features = early;
    if (!on_device_) return cuda::reference::predictor_train(args);
    if (!workspace) {
      const int64_t bytes = cuda::train_workspace(args.layers, args.count, args.net.widest);
      workspace = std::make_unique<Device<uint8_t>>(static_cast<size_t>(bytes));
    }
    args.workspace = workspace->get();
    args.block_memory = little_memory ? 99 * 1024 : cuda::block_memory(0);
    cuda::predictor_train(args, stream);
  }

  // New gradients, the same on both sides.
  void draw_gradients(unsigned seed) {
    for (size_t l = 0; l < layers.size(); ++l) {
      const size_t count = static_cast<size_t>(layers[l].rows * layers[l].cols);
      const size_t shift = static_cast<size_t>(shapes_[l].shift);
      // Layers differ by orders of magnitude, as true gradients do.
      auto values = normal(count + shift, seed + unsigned(l), 0, l % 2 ? 1e-3F : 0.1F);
      gradients[l] = bytes(packed(values, shapes_[l].gradient));
      layers[l].slot.gradient =
          gradients[l]->get() + shapes_[l].shift * cuda::size_of(shapes_[l].gradient);
    }
  }

  int id(size_t l) const { return static_cast<int>(l) + (l + 1 == layers.size() ? id_gap_ : 0); }

  struct Param {
    std::unique_ptr<Array<float>> first, second, steps;
    cuda::ParamSlot slot;
  };
  // Of a layer: guards, weights, guards; `low` the same in bf16.
  struct State {
    std::unique_ptr<Array<float>> weight, first, second, steps;
    std::unique_ptr<Array<uint16_t>> low;
  };

  // How the kernels are called: `early` only right behind make_features(), as train() is.
  cuda::Stream stream = nullptr;
  bool early = false;
  bool behind_pool = false;    // make_features(): only right behind pool_cells()
  bool little_memory = false;  // as on a GPU whose blocks have less of it

  int64_t rows = 0;
  cuda::PredictorNet net;
  std::vector<cuda::PredictedLayer> layers;
  std::vector<State> states;
  Param params[4];  // conv weight, conv bias, fc weight, fc bias
  std::unique_ptr<Array<float>> conv_weight, conv_bias, fc_weight, fc_bias, mean_square, scale;
  std::unique_ptr<Array<float>> summaries, lr, loss;
  std::unique_ptr<Array<uint16_t>> fc_low, features;
  std::unique_ptr<Array<uint8_t>> seen;
  std::vector<std::unique_ptr<Array<uint8_t>>> gradients;
  std::unique_ptr<Device<uint8_t>> workspace;

 private:
  std::unique_ptr<Array<float>> floats(const std::vector<float>& values) const {
    return std::make_unique<Array<float>>(values, on_device_);
  }
  std::unique_ptr<Array<uint8_t>> bytes(const std::vector<uint8_t>& values) const {
    return std::make_unique<Array<uint8_t>>(values, on_device_);
  }
  std::unique_ptr<Array<uint16_t>> low_zeros(int64_t count) const {
    return std::make_unique<Array<uint16_t>>(std::vector<uint16_t>(static_cast<size_t>(count)),
                                             on_device_);
  }

  void make_net(int64_t widest) {
    const auto fc = normal(static_cast<size_t>(widest * cuda::kFeatures), 1, 0, 0.06F);
    std::vector<uint16_t> low;
    for (const float value : fc) low.push_back(to_bf16(value));
    conv_weight = floats(normal(16 * 9, 2, 0, 0.3F));
    conv_bias = floats(normal(16, 3, 0, 0.3F));
    fc_weight = floats(fc);
    fc_bias = floats(normal(static_cast<size_t>(widest), 4, 0, 0.06F));
    fc_low = std::make_unique<Array<uint16_t>>(low, on_device_);
    const size_t scales = shapes_.size() + static_cast<size_t>(id_gap_);
    auto scale_values = std::vector<float>(scales, NAN);  // unused ones must stay unused
    for (size_t l = 0; l < shapes_.size(); ++l) {
      const size_t at = l + 1 == shapes_.size() ? scales - 1 : l;
      scale_values[at] = 0.5F + 0.25F * static_cast<float>(l % 5);
    }
    scale = floats(scale_values);
    mean_square = floats(std::vector<float>(scales, 0.04F));
    net = {conv_weight->get(), conv_bias->get(), fc_weight->get(),   fc_bias->get(),
           fc_low->get(),      widest,           mean_square->get(), scale->get()};
    const int64_t counts[4] = {16 * 9, 16, widest * cuda::kFeatures, widest};
    for (int i = 0; i < 4; ++i) make_param(params[i], counts[i]);
  }

  void make_param(Param& param, int64_t count) const {
    const std::vector<float> zeros(static_cast<size_t>(count));
    param.first = floats(zeros);
    param.second = floats(zeros);
    param.steps = floats({0.0F});
    param.slot.first = param.first->get();
    param.slot.second = param.second->get();
    param.slot.steps = param.steps->get();
    param.slot.count = count;
  }

  // Guards, `shift` more, values, guards.
  std::vector<float> guarded(std::vector<float> values, int64_t shift) const {
    std::vector<float> out(static_cast<size_t>(kGuards + shift), kGuard);
    out.insert(out.end(), values.begin(), values.end());
    out.insert(out.end(), kGuards, kGuard);
    return out;
  }

  void make_layer(const LayerShape& shape, size_t l, int state) {
    const unsigned seed = 100 + 10 * static_cast<unsigned>(l);
    const auto count = static_cast<size_t>(shape.rows * shape.cols);
    const int64_t begin = kGuards + shape.shift;
    State arrays;
    cuda::PredictedLayer layer;
    layer.first_row = rows;
    layer.rows = shape.rows;
    layer.cols = shape.cols;
    rows += shape.rows + 1;
    arrays.weight = floats(guarded(normal(count, seed, 0, 0.1F), shape.shift));
    layer.slot.weight = arrays.weight->get() + begin;
    if (state >= 1) {
      arrays.first = floats(guarded(normal(count, seed + 1, 0, 0.1F), shape.shift));
      layer.slot.first = arrays.first->get() + begin;
    }
    if (state >= 2) {
      auto squares = normal(count, seed + 2, 0.5F, 0.1F);
      for (float& value : squares) value = std::fabs(value);
      arrays.second = floats(guarded(squares, shape.shift));
      arrays.steps = floats({static_cast<float>(l % 3)});
      layer.slot.second = arrays.second->get() + begin;
      layer.slot.steps = arrays.steps->get();
    }
    if (shape.low) {
      arrays.low = low_zeros(int64_t(count) + shape.shift + 2 * kGuards);
      layer.slot.low = arrays.low->get() + begin;
    }
    layer.slot.count = int64_t(count);
    layer.slot.decay = l % 2 ? 0.0F : 5e-2F;
    layer.slot.gradient_type = shape.gradient;
    layers.push_back(layer);
    states.push_back(std::move(arrays));
    gradients.push_back(nullptr);
  }

  bool on_device_;
  std::vector<LayerShape> shapes_;
  int id_gap_;
};

}  // namespace adagp::test
