// VGG (Simonyan & Zisserman 2015), with torchvision's names.

#include <string>

#include "adagp/engine/models/families.h"
#include "adagp/engine/nn/conv_norm.h"

namespace adagp::models {
namespace {

class Vgg : public BlockNet {
 public:
  Vgg(const VggPlan& plan, bool norm, const Options& options) : form_(options.form) {
    const int64_t channels = add_features(plan, norm, options);
    if (form_ == Form::kImagenet) {
      add_classifier(channels, options);
    } else {
      blocks_.push_back(pooled_head(*this, "classifier", channels, options));
    }
    init_fan_out(*this);
  }

  std::vector<std::string> heads() const override {
    return {form_ == Form::kImagenet ? "classifier.6" : "classifier"};
  }

 private:
  // torchvision numbers every step of `features`, those without weights too.
  int64_t add_features(const VggPlan& plan, bool norm, const Options& options) {
    auto features = register_module("features", std::make_shared<torch::nn::Module>("features"));
    int64_t channels = 3, index = 0;
    for (const auto& stage : plan) {
      for (size_t i = 0; i < stage.size(); ++i) {
        const int64_t width = narrowed(stage[i], options);
        const std::string conv_name = std::to_string(index);
        auto conv =
            features->register_module(conv_name, nn::Conv2d(nn::conv(channels, width, 3, 1, 1)));
        std::shared_ptr<nn::BatchNorm2dImpl> bn;
        if (norm) {
          bn = features->register_module(std::to_string(index + 1), nn::BatchNorm2d(width));
        }
        channels = width;
        index += norm ? 3 : 2;
        nn::NormAct act;
        act.relu = true;
        if (i + 1 == stage.size()) {  // the pool belongs to the block: one pass over memory less
          act.pool = nn::Pool2d{2, 2, 0, "features." + std::to_string(index) + " (max_pool2d)"};
          // Images of less than 32x32 are down to one pixel before the last pool.
          act.pool->passes_pixels = form_ == Form::kCifar;
          ++index;
        }
        blocks_.push_back(block("features." + conv_name, [conv, bn, act](const at::Tensor& x) {
          if (bn) return nn::conv_norm(*conv, *bn, x, act);
          const at::Tensor y = nn::relu_(conv->forward(x));
          return act.pool ? nn::max_pool2d(y, *act.pool) : y;
        }));
      }
    }
    return channels;
  }

  void add_classifier(int64_t channels, const Options& options) {
    constexpr int64_t kSide = 7;
    constexpr double kDropout = 0.5;
    const int64_t hidden = narrowed(4096, options);
    auto group = register_module("classifier", std::make_shared<torch::nn::Module>("classifier"));
    auto first = group->register_module("0", nn::Linear(channels * kSide * kSide, hidden));
    auto second = group->register_module("3", nn::Linear(hidden, hidden));
    auto last = group->register_module("6", nn::Linear(hidden, options.classes));
    const auto activate = [this](const at::Tensor& x) {
      return nn::dropout(nn::relu_(x), kDropout, is_training());
    };
    blocks_.push_back(block("classifier.0", [first, activate](const at::Tensor& x) {
      const at::Tensor pooled = nn::adaptive_avg_pool2d(x, kSide);
      return activate(first->forward(nn::flatten(pooled)));
    }));
    blocks_.push_back(block("classifier.3", [second, activate](const at::Tensor& x) {
      return activate(second->forward(x));
    }));
    blocks_.push_back(
        block("classifier.6", [last](const at::Tensor& x) { return last->forward(x); }));
  }

  Form form_;
};

}  // namespace

std::shared_ptr<Net> vgg(const VggPlan& plan, bool norm, const Options& options) {
  return std::make_shared<Vgg>(plan, norm, options);
}

}  // namespace adagp::models
