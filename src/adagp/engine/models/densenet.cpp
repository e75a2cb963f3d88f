// DenseNet-BC (Huang et al. 2017), with torchvision's names.
//
// Between two layers of a dense block travels the map of all channels so far (nn/growing_map.h):
// what the next layer reads anyway, and the one tensor that crosses a cut there.

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/nn/growing_map.h"
#include "adagp/engine/nn/initial_values.h"

namespace adagp::models {
namespace {

constexpr int64_t kBottleneck = 4;  // width of the 1x1 convolution, in growth rates

// Of a block: its layers write into it, and what follows the block begins with a norm of it.
using SharedMap = std::shared_ptr<nn::GrowingMap>;

class DenseLayerImpl : public torch::nn::Module {
 public:
  DenseLayerImpl(int64_t in, int64_t growth, SharedMap map) : map_(std::move(map)) {
    norm1_ = register_module("norm1", nn::BatchNorm2d(in));
    conv1_ = register_module("conv1", plain_conv(in, kBottleneck * growth, 1));
    norm2_ = register_module("norm2", nn::BatchNorm2d(kBottleneck * growth));
    conv2_ = register_module("conv2", plain_conv(kBottleneck * growth, growth, 3));
  }

  at::Tensor forward(const at::Tensor& x) {
    const nn::NormBranch branch = map_->norm_relu_branch(*norm1_, x);
    const at::Tensor narrow = nn::conv_norm(*conv1_, *norm2_, branch.normed, nn::relu_act());
    return map_->grow(branch.passed_on, *conv2_, narrow);
  }

 private:
  SharedMap map_;
  nn::BatchNorm2d norm1_{nullptr}, norm2_{nullptr};
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
};
TORCH_MODULE(DenseLayer);

// Halves the channels and the sides of the image.
class TransitionImpl : public torch::nn::Module {
 public:
  TransitionImpl(int64_t in, int64_t out, SharedMap map)
      : map_(std::move(map)),
        norm_(register_module("norm", nn::BatchNorm2d(in))),
        conv_(register_module("conv", plain_conv(in, out, 1))) {}

  at::Tensor forward(const at::Tensor& x) {
    return nn::avg_pool2d(conv_->forward(map_->norm_relu(*norm_, x)), {2, 2, 0, "transition"});
  }

 private:
  SharedMap map_;
  nn::BatchNorm2d norm_;
  nn::Conv2d conv_;
};
TORCH_MODULE(Transition);

class DenseNet : public BlockNet {
 public:
  DenseNet(const DenseNetPlan& plan, const Options& options) {
    const int64_t growth = narrowed(plan.growth, options);
    int64_t channels = narrowed(plan.stem, options);
    features_ = register_module("features", std::make_shared<torch::nn::Module>("features"));
    add_stem(channels, options.form);
    SharedMap map;
    for (size_t stage = 0; stage < plan.layers.size(); ++stage) {
      const int64_t in = channels;
      channels += plan.layers[stage] * growth;
      map = std::make_shared<nn::GrowingMap>(channels);
      add_dense_block(stage, plan.layers[stage], in, growth, map);
      if (stage + 1 < plan.layers.size()) channels = add_transition(stage, channels, map);
    }
    auto norm = features_->register_module("norm5", nn::BatchNorm2d(channels));
    blocks_.push_back(block("features.norm5",
                            [norm, map](const at::Tensor& x) { return map->norm_relu(*norm, x); }));
    blocks_.push_back(pooled_head(*this, "classifier", channels, options));
    initialise();
  }

  std::vector<std::string> heads() const override { return {"classifier"}; }

 private:
  void add_stem(int64_t width, Form form) {
    const bool large = form == Form::kImagenet;
    auto conv =
        features_->register_module("conv0", plain_conv(3, width, large ? 7 : 3, large ? 2 : 1));
    auto norm = features_->register_module("norm0", nn::BatchNorm2d(width));
    nn::NormAct act = nn::relu_act();
    if (large) act.pool = nn::Pool2d{3, 2, 1, "features.pool0"};
    blocks_.push_back(block("features.conv0", [conv, norm, act](const at::Tensor& x) {
      return nn::conv_norm(*conv, *norm, x, act);
    }));
  }

  void add_dense_block(size_t stage, int64_t count, int64_t in, int64_t growth,
                       const SharedMap& map) {
    const std::string name = "denseblock" + std::to_string(stage + 1);
    auto group = features_->register_module(name, std::make_shared<torch::nn::Module>(name));
    for (int64_t i = 1; i <= count; ++i) {
      const std::string inner = "denselayer" + std::to_string(i);
      auto layer = group->register_module(inner, DenseLayer(in, growth, map));
      blocks_.push_back(block("features." + name + "." + inner,
                              [layer](const at::Tensor& x) { return layer->forward(x); }));
      in += growth;
    }
  }

  int64_t add_transition(size_t stage, int64_t in, const SharedMap& map) {
    const std::string name = "transition" + std::to_string(stage + 1);
    auto transition = features_->register_module(name, Transition(in, in / 2, map));
    blocks_.push_back(block("features." + name,
                            [transition](const at::Tensor& x) { return transition->forward(x); }));
    return in / 2;
  }

  void initialise() {
    if (nn::shape_only()) return;
    torch::NoGradGuard no_grad;
    for (nn::WeightLayer* layer : nn::collect(*this)) {
      if (layer->info().kind == nn::LayerKind::kLinear) {
        layer->bias.zero_();
      } else {  // kaiming_normal, fan_in, relu
        const auto fan_in = static_cast<double>(layer->info().cols());
        nn::draw_normal(layer->weight, 0, std::sqrt(2.0) / std::sqrt(fan_in));
      }
    }
  }

  std::shared_ptr<torch::nn::Module> features_;
};

}  // namespace

std::shared_ptr<Net> densenet(const DenseNetPlan& plan, const Options& options) {
  return std::make_shared<DenseNet>(plan, options);
}

}  // namespace adagp::models
