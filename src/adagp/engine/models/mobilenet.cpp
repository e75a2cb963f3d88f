// MobileNet-V2 (Sandler et al. 2018), with torchvision's names.

#include <string>

#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/families.h"

namespace adagp::models {
namespace {

nn::NormAct relu6_act() {
  nn::NormAct act;
  act.relu6 = true;
  return act;
}

// Wide inside, narrow at both ends: 1x1 up, 3x3 depthwise, 1x1 down without an activation.
class InvertedResidualImpl : public torch::nn::Module {
 public:
  InvertedResidualImpl(int64_t in, int64_t out, int64_t stride, int64_t expansion)
      : adds_(stride == 1 && in == out) {
    const int64_t wide = in * expansion;
    auto group = register_module("conv", std::make_shared<torch::nn::Module>("conv"));
    int64_t index = 0;
    const auto add = [&](const nn::Conv2dOptions& options) {
      units_.push_back(
          group->register_module(std::to_string(index++), ConvUnit(options, relu6_act())));
    };
    if (expansion != 1) add(nn::conv(in, wide, 1));
    add(nn::conv(wide, wide, 3, stride, 1, false, /*groups=*/wide));
    last_ = group->register_module(std::to_string(index++), plain_conv(wide, out, 1));
    norm_ = group->register_module(std::to_string(index), nn::BatchNorm2d(out));
  }

  at::Tensor forward(at::Tensor x) {
    at::Tensor y = adds_ ? units_[0]->forward_shared(x) : units_[0]->forward(x);
    for (size_t i = 1; i < units_.size(); ++i) y = units_[i]->forward(y);
    nn::NormAct act;
    if (adds_) act.residual = [&x] { return x; };
    return nn::conv_norm(*last_, *norm_, y, act);
  }

 private:
  bool adds_;
  std::vector<std::shared_ptr<ConvUnitImpl>> units_;
  nn::Conv2d last_{nullptr};
  nn::BatchNorm2d norm_{nullptr};
};
TORCH_MODULE(InvertedResidual);

struct Stage {
  int64_t expansion, width, count, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class MobileNetV2 : public BlockNet {
 public:
  explicit MobileNetV2(const Options& options) {
    const bool large = options.form == Form::kImagenet;
    features_ = register_module("features", std::make_shared<torch::nn::Module>("features"));
    int64_t channels = narrowed(32, options);
    add(ConvUnit(nn::conv(3, channels, 3, large ? 2 : 1, 1), relu6_act()));
    for (const Stage& stage : kStages) {
      const int64_t width = narrowed(stage.width, options);
      // 32x32 images keep their size in the first two stages: the last maps are then 4x4.
      const bool keeps = stage.stride == 1 || (!large && stage.width == 24);
      for (int64_t i = 0; i < stage.count; ++i) {
        const int64_t stride = keeps || i > 0 ? 1 : stage.stride;
        add(InvertedResidual(channels, width, stride, stage.expansion));
        channels = width;
      }
    }
    const int64_t last = narrowed(1280, options);
    add(ConvUnit(nn::conv(channels, last, 1), relu6_act()));
    add_classifier(last, options.classes);
    init_fan_out(*this);
  }

  std::vector<std::string> heads() const override { return {"classifier.1"}; }

 private:
  template <typename Holder>
  void add(Holder step) {
    const std::string number = std::to_string(blocks_.size());
    features_->register_module(number, step);
    blocks_.push_back(block("features." + number,
                            [step](const at::Tensor& x) mutable { return step->forward(x); }));
  }

  void add_classifier(int64_t channels, int64_t classes) {
    constexpr double kDropout = 0.2;
    auto group = register_module("classifier", std::make_shared<torch::nn::Module>("classifier"));
    auto linear = group->register_module("1", nn::Linear(channels, classes));
    blocks_.push_back(block("classifier.1", [this, linear](const at::Tensor& x) {
      const at::Tensor pooled = nn::flatten(nn::adaptive_avg_pool2d(x, 1));
      return linear->forward(nn::dropout(pooled, kDropout, is_training()));
    }));
  }

  std::shared_ptr<torch::nn::Module> features_;
};

}  // namespace

std::shared_ptr<Net> mobilenet_v2(const Options& options) {
  return std::make_shared<MobileNetV2>(options);
}

}  // namespace adagp::models
