#include "adagp/rivals/method/auxiliary_head.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

namespace adagp::method {
namespace {

namespace tnn = torch::nn;

class AuxiliaryHead : public CutNetwork {
 public:
  AuxiliaryHead(int64_t channels, int64_t height, int64_t width, int64_t classes) {
    const auto quarter = [](int64_t side) { return (side + 3) / 4; };
    const int64_t h = quarter(height), w = quarter(width);
    maps_->push_back(tnn::AdaptiveAvgPool2d(tnn::AdaptiveAvgPool2dOptions({h, w})));
    for (int i = 0; i < kLayers; ++i) {
      maps_->push_back(tnn::Conv2d(tnn::Conv2dOptions(channels, channels, 1).bias(false)));
      maps_->push_back(tnn::BatchNorm2d(channels));
      maps_->push_back(tnn::ReLU());
    }
    const int64_t rows = std::min<int64_t>(2, h), columns = std::min<int64_t>(2, w);
    maps_->push_back(tnn::AdaptiveAvgPool2d(tnn::AdaptiveAvgPool2dOptions({rows, columns})));
    const int64_t features = channels * rows * columns;
    for (int i = 0; i < kLayers; ++i) {
      vectors_->push_back(tnn::Linear(tnn::LinearOptions(features, features).bias(false)));
      vectors_->push_back(tnn::BatchNorm1d(features));
      vectors_->push_back(tnn::ReLU());
    }
    vectors_->push_back(tnn::Linear(features, classes));
    register_module("maps", maps_);
    register_module("vectors", vectors_);
    macs_ = static_cast<double>(kLayers * (channels * channels * h * w + features * features) +
                                features * classes);
  }

  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor map = x.dim() == 4 ? x : x.flatten(1).unsqueeze(-1).unsqueeze(-1);
    return vectors_->forward(maps_->forward(map).flatten(1));
  }
  double macs() const override { return macs_; }

 private:
  static constexpr int kLayers = 3;
  tnn::Sequential maps_, vectors_;
  double macs_ = 0;
};

}  // namespace

std::shared_ptr<CutNetwork> make_auxiliary_head(const at::Tensor& x, int64_t classes) {
  const bool map = x.dim() == 4;
  return std::make_shared<AuxiliaryHead>(map ? x.size(1) : x.numel(), map ? x.size(2) : 1,
                                         map ? x.size(3) : 1, classes);
}

}  // namespace adagp::method
