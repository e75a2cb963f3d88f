// ResNet (He et al. 2016; stride on the 3x3 convolution of a bottleneck), with torchvision's names.

#include <string>
#include <utility>

#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/families.h"

namespace adagp::models {
namespace {

constexpr int64_t kExpansion = 4;

struct BlockShape {
  bool bottleneck;
  int64_t in, width, stride;
  int64_t out() const { return bottleneck ? width * kExpansion : width; }
};

class ResidualImpl : public torch::nn::Module {
 public:
  explicit ResidualImpl(const BlockShape& s) {
    // Built first, registered last, as torchvision does: the order of the random draws.
    ConvUnit shortcut{nullptr};
    if (s.stride != 1 || s.in != s.out()) {
      shortcut = ConvUnit(nn::conv(s.in, s.out(), 1, s.stride), nn::NormAct{});
    }
    if (s.bottleneck) {
      add_unit(s.in, s.width, 1, 1);
      add_unit(s.width, s.width, 3, s.stride);
      add_unit(s.width, s.out(), 1, 1);
    } else {
      add_unit(s.in, s.width, 3, s.stride);
      add_unit(s.width, s.out(), 3, 1);
    }
    if (shortcut) shortcut_ = register_module("downsample", shortcut);
  }

  at::Tensor forward(at::Tensor x) {
    at::Tensor y = nn::conv_norm_shared(*units_[0].conv, *units_[0].bn, x, nn::relu_act());
    for (size_t i = 1; i < units_.size(); ++i) {
      nn::NormAct act = nn::relu_act();
      if (i + 1 == units_.size()) {
        act.residual = [&] { return shortcut_ ? shortcut_->forward(x) : x; };
      }
      y = nn::conv_norm(*units_[i].conv, *units_[i].bn, y, act);
    }
    return y;
  }

 private:
  struct Unit {
    std::shared_ptr<nn::Conv2dImpl> conv;
    std::shared_ptr<nn::BatchNorm2dImpl> bn;
  };

  void add_unit(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    const std::string number = std::to_string(units_.size() + 1);
    auto conv = register_module("conv" + number, plain_conv(in, out, kernel, stride));
    auto bn = register_module("bn" + number, nn::BatchNorm2d(out));
    units_.push_back({std::move(conv), std::move(bn)});
  }

  std::vector<Unit> units_;
  ConvUnit shortcut_{nullptr};  // where the block changes the shape
};
TORCH_MODULE(Residual);

class ResNet : public BlockNet {
 public:
  ResNet(const ResNetPlan& plan, const Options& options) {
    int64_t channels = narrowed(plan.widths.front(), options);
    add_stem(channels, options.form);
    for (size_t stage = 0; stage < plan.blocks.size(); ++stage) {
      const int64_t width = narrowed(plan.widths[stage], options);
      channels = add_stage(stage, plan.blocks[stage], plan.bottleneck, channels, width);
    }
    blocks_.push_back(pooled_head(*this, "fc", channels, options));
    init_convolutions(*this);
  }

  std::vector<std::string> heads() const override { return {"fc"}; }

 private:
  void add_stem(int64_t width, Form form) {
    const bool large = form == Form::kImagenet;
    auto conv = register_module("conv1", plain_conv(3, width, large ? 7 : 3, large ? 2 : 1));
    auto bn = register_module("bn1", nn::BatchNorm2d(width));
    nn::NormAct act;
    act.relu = true;
    blocks_.push_back(block("conv1", [conv, bn, act](const at::Tensor& x) {
      return nn::conv_norm(*conv, *bn, x, act);
    }));
    if (!large) return;
    const nn::Pool2d pool{3, 2, 1, "maxpool"};
    blocks_.push_back(
        block("maxpool", [pool](const at::Tensor& x) { return nn::max_pool2d(x, pool); }));
  }

  int64_t add_stage(size_t stage, int64_t count, bool bottleneck, int64_t in, int64_t width) {
    const std::string name = "layer" + std::to_string(stage + 1);
    auto group = register_module(name, std::make_shared<torch::nn::Module>(name));
    for (int64_t i = 0; i < count; ++i) {
      const BlockShape shape{bottleneck, in, width, stage > 0 && i == 0 ? 2 : 1};
      auto residual = group->register_module(std::to_string(i), Residual(shape));
      blocks_.push_back(block(name + "." + std::to_string(i),
                              [residual](const at::Tensor& x) { return residual->forward(x); }));
      in = shape.out();
    }
    return in;
  }
};

}  // namespace

std::shared_ptr<Net> resnet(const ResNetPlan& plan, const Options& options) {
  return std::make_shared<ResNet>(plan, options);
}

}  // namespace adagp::models
