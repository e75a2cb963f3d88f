// Inception-V3 (Szegedy et al. 2016), with torchvision's names.

#include <cmath>
#include <string>
#include <utility>

#include "adagp/engine/models/families.h"
#include "adagp/engine/models/mixed.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::models::inception {
namespace {

AvgPool padded_average() {
  return {{3, 1, 1, "avg_pool2d"}};
}

Branches mixed_5(int64_t pooled) {
  return {
      {unit("branch1x1", 64)},
      {unit("branch5x5_1", 48), unit("branch5x5_2", 64, 5, 1, 2)},
      {unit("branch3x3dbl_1", 64), unit("branch3x3dbl_2", 96, 3, 1, 1),
       unit("branch3x3dbl_3", 96, 3, 1, 1)},
      {padded_average(), unit("branch_pool", pooled)},
  };
}
Branches mixed_6a() {
  return {
      {unit("branch3x3", 384, 3, 2)},
      {unit("branch3x3dbl_1", 64), unit("branch3x3dbl_2", 96, 3, 1, 1),
       unit("branch3x3dbl_3", 96, 3, 2)},
      {MaxPool{{3, 2}}},
  };
}
Branches mixed_6(int64_t width) {
  return {
      {unit("branch1x1", 192)},
      {unit("branch7x7_1", width), wide_unit("branch7x7_2", width, 7),
       tall_unit("branch7x7_3", 192, 7)},
      {unit("branch7x7dbl_1", width), tall_unit("branch7x7dbl_2", width, 7),
       wide_unit("branch7x7dbl_3", width, 7), tall_unit("branch7x7dbl_4", width, 7),
       wide_unit("branch7x7dbl_5", 192, 7)},
      {padded_average(), unit("branch_pool", 192)},
  };
}
Branches mixed_7a() {
  return {
      {unit("branch3x3_1", 192), unit("branch3x3_2", 320, 3, 2)},
      {unit("branch7x7x3_1", 192), wide_unit("branch7x7x3_2", 192, 7),
       tall_unit("branch7x7x3_3", 192, 7), unit("branch7x7x3_4", 192, 3, 2)},
      {MaxPool{{3, 2}}},
  };
}
Branches mixed_7() {
  return {
      {unit("branch1x1", 320)},
      {unit("branch3x3_1", 384),
       Fork{wide_unit("branch3x3_2a", 384, 3), tall_unit("branch3x3_2b", 384, 3)}},
      {unit("branch3x3dbl_1", 448), unit("branch3x3dbl_2", 384, 3, 1, 1),
       Fork{wide_unit("branch3x3dbl_3a", 384, 3), tall_unit("branch3x3dbl_3b", 384, 3)}},
      {padded_average(), unit("branch_pool", 192)},
  };
}

// A second classifier half way, for training alone.
class AuxiliaryImpl : public torch::nn::Module {
 public:
  AuxiliaryImpl(int64_t in, const Options& options) {
    const int64_t narrow = narrowed(128, options), wide = narrowed(768, options);
    const auto add = [this](const char* name, const nn::Conv2dOptions& conv) {
      return register_module(name, ConvUnit(conv, nn::relu_act(), inception_style()));
    };
    conv0_ = add("conv0", nn::conv(in, narrow, 1));
    conv1_ = add("conv1", nn::conv(narrow, wide, 5));
    fc_ = register_module("fc", nn::Linear(wide, options.classes));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor small = nn::avg_pool2d(x, {5, 3, 0, "AuxLogits"});
    const at::Tensor y = conv1_->forward(conv0_->forward(small));
    return fc_->forward(nn::flatten(nn::adaptive_avg_pool2d(y, 1)));
  }

 private:
  ConvUnit conv0_{nullptr}, conv1_{nullptr};
  nn::Linear fc_{nullptr};
};
TORCH_MODULE(Auxiliary);

class InceptionV3 : public BlockNet {
 public:
  explicit InceptionV3(const Options& options) : options_(options) {
    add_stem();
    add_mixed("Mixed_5b", mixed_5(32));
    add_mixed("Mixed_5c", mixed_5(64));
    add_mixed("Mixed_5d", mixed_5(64));
    add_mixed("Mixed_6a", mixed_6a());
    add_mixed("Mixed_6b", mixed_6(128));
    add_mixed("Mixed_6c", mixed_6(160));
    add_mixed("Mixed_6d", mixed_6(160));
    add_mixed("Mixed_6e", mixed_6(192));
    if (options.form == Form::kImagenet) add_auxiliary();
    add_mixed("Mixed_7a", mixed_7a());
    add_mixed("Mixed_7b", mixed_7());
    add_mixed("Mixed_7c", mixed_7());
    add_classifier();
    initialise();
  }

  std::vector<std::string> heads() const override {
    if (options_.form == Form::kCifar) return {"fc"};
    return {"fc", "AuxLogits.fc"};
  }

 private:
  // Works on the first tensor; the auxiliary logits, if any, travel along to the end.
  void add_block(std::string name, std::function<at::Tensor(const at::Tensor&)> step) {
    blocks_.push_back({std::move(name), [step = std::move(step)](const Tensors& x) {
                         Tensors out = x;
                         out.at(0) = step(x.at(0));
                         return out;
                       }});
  }

  void add_unit(const std::string& name, int64_t out, int64_t kernel, int64_t stride,
                int64_t padding) {
    const int64_t width = narrowed(out, options_);
    auto conv = register_module(name, ConvUnit(nn::conv(channels_, width, kernel, stride, padding),
                                               nn::relu_act(), inception_style()));
    add_block(name, [conv](const at::Tensor& x) { return conv->forward(x); });
    channels_ = width;
  }

  void add_pool(const std::string& name) {
    const nn::Pool2d pool{3, 2, 0, name};
    add_block(name, [pool](const at::Tensor& x) { return nn::max_pool2d(x, pool); });
  }

  // In CIFAR form nothing before Mixed_6a makes the image smaller.
  void add_stem() {
    const bool large = options_.form == Form::kImagenet;
    const int64_t padding = large ? 0 : 1;
    add_unit("Conv2d_1a_3x3", 32, 3, large ? 2 : 1, padding);
    add_unit("Conv2d_2a_3x3", 32, 3, 1, padding);
    add_unit("Conv2d_2b_3x3", 64, 3, 1, 1);
    if (large) add_pool("maxpool1");
    add_unit("Conv2d_3b_1x1", 80, 1, 1, 0);
    add_unit("Conv2d_4a_3x3", 192, 3, 1, padding);
    if (large) add_pool("maxpool2");
  }

  void add_mixed(const std::string& name, const Branches& branches) {
    auto mixed = register_module(name, Mixed(channels_, branches, options_));
    add_block(name, [mixed](const at::Tensor& x) { return mixed->forward(x); });
    channels_ = mixed->out();
  }

  void add_auxiliary() {
    auto auxiliary = register_module("AuxLogits", Auxiliary(channels_, options_));
    blocks_.push_back({"AuxLogits", [this, auxiliary](const Tensors& x) {
                         if (!is_training()) return x;
                         return Tensors{x.at(0), auxiliary->forward(x.at(0))};
                       }});
  }

  void add_classifier() {
    constexpr double kDropout = 0.5;
    auto fc = register_module("fc", nn::Linear(channels_, options_.classes));
    add_block("fc", [this, fc](const at::Tensor& x) {
      const at::Tensor pooled = nn::dropout(nn::adaptive_avg_pool2d(x, 1), kDropout, is_training());
      return fc->forward(nn::flatten(pooled));
    });
  }

  // torchvision's trunc_normal: with bounds of 20 deviations and more nothing is cut off, and the
  // draw is the inverse of the normal distribution over the whole of (0, 1).
  void initialise() {
    if (nn::shape_only()) return;
    torch::NoGradGuard no_grad;
    for (nn::WeightLayer* layer : nn::collect(*this)) {
      const double deviation = layer->path() == "AuxLogits.fc" ? 0.001 : 0.1;
      nn::draw_uniform(layer->weight, -1, 1);
      if (!nn::has_values(layer->weight)) continue;
      layer->weight.erfinv_().mul_(deviation * std::sqrt(2.0)).clamp_(-2, 2);
    }
  }

  Options options_;
  int64_t channels_ = 3;
};

}  // namespace
}  // namespace adagp::models::inception

namespace adagp::models {

std::shared_ptr<Net> inception_v3(const Options& options) {
  return std::make_shared<inception::InceptionV3>(options);
}

}  // namespace adagp::models
