// Inception-V4 (Szegedy et al. 2017), with timm's names.

#include <string>

#include "adagp/engine/models/families.h"
#include "adagp/engine/models/mixed.h"

namespace adagp::models::inception {
namespace {

AvgPool same_average() {
  return {{3, 1, 1, "avg_pool2d", /*count_padding=*/false}};
}

// Where the published network halves a 299-pixel image, the CIFAR form keeps the size.
struct Stem {
  int64_t stride, padding;  // of 3x3 windows
  MaxPool pool() const { return {{3, stride, padding, "max_pool2d"}}; }
  Unit conv(std::string name, int64_t out) const {
    return unit(std::move(name), out, 3, stride, padding);
  }
};

Branches mixed_3a(const Stem& stem) {
  return {{stem.pool()}, {stem.conv("conv", 96)}};
}
Branches mixed_4a(int64_t padding) {
  return {{unit("branch0.0", 64), unit("branch0.1", 96, 3, 1, padding)},
          {unit("branch1.0", 64), wide_unit("branch1.1", 64, 7), tall_unit("branch1.2", 64, 7),
           unit("branch1.3", 96, 3, 1, padding)}};
}
Branches mixed_5a(const Stem& stem) {
  return {{stem.conv("conv", 192)}, {stem.pool()}};
}
Branches inception_a() {
  return {
      {unit("branch0", 96)},
      {unit("branch1.0", 64), unit("branch1.1", 96, 3, 1, 1)},
      {unit("branch2.0", 64), unit("branch2.1", 96, 3, 1, 1), unit("branch2.2", 96, 3, 1, 1)},
      {same_average(), unit("branch3.1", 96)},
  };
}
Branches reduction_a() {
  return {
      {unit("branch0", 384, 3, 2)},
      {unit("branch1.0", 192), unit("branch1.1", 224, 3, 1, 1), unit("branch1.2", 256, 3, 2)},
      {MaxPool{{3, 2}}},
  };
}
Branches inception_b() {
  return {
      {unit("branch0", 384)},
      {unit("branch1.0", 192), wide_unit("branch1.1", 224, 7), tall_unit("branch1.2", 256, 7)},
      {unit("branch2.0", 192), tall_unit("branch2.1", 192, 7), wide_unit("branch2.2", 224, 7),
       tall_unit("branch2.3", 224, 7), wide_unit("branch2.4", 256, 7)},
      {same_average(), unit("branch3.1", 128)},
  };
}
Branches reduction_b() {
  return {
      {unit("branch0.0", 192), unit("branch0.1", 192, 3, 2)},
      {unit("branch1.0", 256), wide_unit("branch1.1", 256, 7), tall_unit("branch1.2", 320, 7),
       unit("branch1.3", 320, 3, 2)},
      {MaxPool{{3, 2}}},
  };
}
Branches inception_c() {
  return {
      {unit("branch0", 256)},
      {unit("branch1_0", 384),
       Fork{wide_unit("branch1_1a", 256, 3), tall_unit("branch1_1b", 256, 3)}},
      {unit("branch2_0", 384), tall_unit("branch2_1", 448, 3), wide_unit("branch2_2", 512, 3),
       Fork{wide_unit("branch2_3a", 256, 3), tall_unit("branch2_3b", 256, 3)}},
      {same_average(), unit("branch3.1", 256)},
  };
}

class InceptionV4 : public BlockNet {
 public:
  explicit InceptionV4(const Options& options) : options_(options) {
    const bool large = options.form == Form::kImagenet;
    const Stem stem = large ? Stem{2, 0} : Stem{1, 1};
    const int64_t padding = large ? 0 : 1;
    features_ = register_module("features", std::make_shared<torch::nn::Module>("features"));
    add_unit(32, stem.stride, padding);
    add_unit(32, 1, padding);
    add_unit(64, 1, 1);
    add_mixed(mixed_3a(stem));
    add_mixed(mixed_4a(padding));
    add_mixed(mixed_5a(stem));
    for (int i = 0; i < 4; ++i) add_mixed(inception_a());
    add_mixed(reduction_a());
    for (int i = 0; i < 7; ++i) add_mixed(inception_b());
    add_mixed(reduction_b());
    for (int i = 0; i < 3; ++i) add_mixed(inception_c());
    blocks_.push_back(pooled_head(*this, "last_linear", channels_, options));
  }

  std::vector<std::string> heads() const override { return {"last_linear"}; }

 private:
  void add_unit(int64_t out, int64_t stride, int64_t padding) {
    const int64_t width = narrowed(out, options_);
    add(ConvUnit(nn::conv(channels_, width, 3, stride, padding), nn::relu_act(),
                 inception_style()));
    channels_ = width;
  }

  void add_mixed(const Branches& branches) {
    Mixed mixed(channels_, branches, options_);
    channels_ = mixed->out();
    add(mixed);
  }

  template <typename Holder>
  void add(Holder step) {
    const std::string number = std::to_string(blocks_.size());
    features_->register_module(number, step);
    blocks_.push_back(block("features." + number,
                            [step](const at::Tensor& x) mutable { return step->forward(x); }));
  }

  Options options_;
  std::shared_ptr<torch::nn::Module> features_;
  int64_t channels_ = 3;
};

}  // namespace
}  // namespace adagp::models::inception

namespace adagp::models {

std::shared_ptr<Net> inception_v4(const Options& options) {
  return std::make_shared<inception::InceptionV4>(options);
}

}  // namespace adagp::models
