// YOLO-v3 (Redmon and Farhadi 2018): Darknet-53 and three heads, leaky ReLU.
//
// Names and numbers are those of ultralytics/yolov3: module `model.<i>` with `conv` and `bn`,
// residual units with `cv1` and `cv2`, heads `model.28.m.0` (stride 8), `.1` (16) and `.2` (32).

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/ops_detection.h"

namespace adagp::models {
namespace {

constexpr double kSlope = 0.1;
constexpr int64_t kAnchors = 3;  // per cell
constexpr int64_t kStride = 32;  // of the coarsest head

class YoloConvImpl : public torch::nn::Module {
 public:
  YoloConvImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1)
      : conv_(register_module(
            "conv", nn::Conv2d(nn::conv(in, out, kernel, stride, kernel / 2, /*bias=*/false)))),
        bn_(register_module("bn", nn::BatchNorm2d(out))) {}

  at::Tensor forward(const at::Tensor& x) {
    return nn::leaky_relu_(nn::conv_norm(*conv_, *bn_, x, {}), kSlope);
  }

 private:
  nn::Conv2d conv_;
  nn::BatchNorm2d bn_;
};
TORCH_MODULE(YoloConv);

// 1x1 to half the width, 3x3 back; with the shortcut in the backbone, without in the heads.
class YoloUnitImpl : public torch::nn::Module {
 public:
  YoloUnitImpl(int64_t in, int64_t out, bool shortcut)
      : cv1_(register_module("cv1", YoloConv(in, out / 2, 1))),
        cv2_(register_module("cv2", YoloConv(out / 2, out, 3))),
        shortcut_(shortcut) {}

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = cv2_->forward(cv1_->forward(x));
    return shortcut_ ? nn::add(y, x) : y;
  }

 private:
  YoloConv cv1_, cv2_;
  bool shortcut_;
};
TORCH_MODULE(YoloUnit);

// What crosses a cut: the present activation first, then what later blocks ask for.
//   route 8, 16: activations of the backbone at these strides; head 16, 32: inputs of the heads.
//   up to model.6: {x}; to model.8: {x, route 8}; to model.14: {x, route 8, route 16};
//   model.15: {x, route 8, route 16, head 32}; to model.21: {x, route 8, head 32};
//   model.22: {x, route 8, head 32, head 16}; to model.27: {x, head 32, head 16}.
class Yolo : public BlockNet {
 public:
  explicit Yolo(const Options& options)
      : options_(options),
        model_(register_module("model", std::make_shared<torch::nn::Module>("model"))) {
    add_backbone();
    add_neck();
    add_heads(options.classes);
    if (!nn::shape_only()) initialise();
  }

  std::vector<std::string> heads() const override {
    return {"model.28.m.0", "model.28.m.1", "model.28.m.2"};
  }

 private:
  using Step = std::function<at::Tensor(const at::Tensor&)>;

  int64_t wide(int64_t channels) const { return narrowed(channels, options_); }

  // A block that changes the present activation alone.
  void along(const std::string& name, Step step) {
    blocks_.push_back({name, [step = std::move(step)](const Tensors& x) {
                         Tensors y = x;
                         y.at(0) = step(x.at(0));
                         return y;
                       }});
  }
  // The last block's result is also kept for later.
  void keep_last() {
    blocks_.back().run = [run = std::move(blocks_.back().run)](const Tensors& x) {
      Tensors y = run(x);
      y.push_back(y.at(0));
      return y;
    };
  }

  YoloConv make_conv(int64_t number, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
    return model_->register_module(std::to_string(number),
                                   YoloConv(wide(in), wide(out), kernel, stride));
  }
  void add_conv(int64_t number, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
    auto conv = make_conv(number, in, out, kernel, stride);
    along(core::cat("model.", number),
          [conv](const at::Tensor& x) mutable { return conv->forward(x); });
  }
  // `count` units; more than one are numbered inside a group, as the names are there.
  void add_units(int64_t number, int64_t count, int64_t in, int64_t out, bool shortcut) {
    const std::string own = std::to_string(number);
    std::shared_ptr<torch::nn::Module> group = model_;
    if (count > 1) group = model_->register_module(own, std::make_shared<torch::nn::Module>(own));
    for (int64_t i = 0; i < count; ++i) {
      const std::string place = count > 1 ? std::to_string(i) : own;
      auto unit =
          group->register_module(place, YoloUnit(wide(i == 0 ? in : out), wide(out), shortcut));
      along("model." + own + (count > 1 ? "." + place : ""),
            [unit](const at::Tensor& x) mutable { return unit->forward(x); });
    }
  }

  void add_backbone() {
    auto first = model_->register_module("0", YoloConv(3, wide(32), 3));
    along("model.0", [first](const at::Tensor& x) mutable {
      if (x.dim() != 4 || x.size(2) % kStride != 0 || x.size(3) % kStride != 0) {
        throw UsageError(core::cat("yolov3: input ", x.sizes(), ", expected images [B, 3, H, W] ",
                                   "whose sides are multiples of ", kStride));
      }
      return first->forward(x);
    });
    int64_t number = 1, channels = 32;
    for (const int64_t units : {1, 2, 8, 8, 4}) {
      add_conv(number, channels, 2 * channels, 3, 2);
      channels *= 2;
      add_units(number + 1, units, channels, channels, true);
      if (number == 5 || number == 7) keep_last();
      number += 2;
    }
  }

  // To the head of `number` - 1 and up to the next finer scale, where the route has `in` channels.
  void add_climb(int64_t number, int64_t in, int64_t out, size_t route) {
    auto conv = make_conv(number, in, out, 1);
    blocks_.push_back({core::cat("model.", number), [conv, route](const Tensors& x) mutable {
                         Tensors y = x;
                         const at::Tensor up = nn::upsample_nearest2x(conv->forward(x.at(0)));
                         y.at(0) = nn::concat({up, x.at(route)});
                         y.erase(y.begin() + static_cast<std::ptrdiff_t>(route));
                         return y;
                       }});
  }
  // The head's input beside the present activation.
  void add_head_input(int64_t number, int64_t in, int64_t out) {
    auto conv = make_conv(number, in, out, 3);
    blocks_.push_back({core::cat("model.", number), [conv](const Tensors& x) mutable {
                         Tensors y = x;
                         y.push_back(conv->forward(x.at(0)));
                         return y;
                       }});
  }

  void add_neck() {
    add_units(11, 1, 1024, 1024, false);
    add_conv(12, 1024, 512, 1);
    add_conv(13, 512, 1024, 3);
    add_conv(14, 1024, 512, 1);
    add_head_input(15, 512, 1024);
    add_climb(16, 512, 256, 2);  // 17 upsamples, 18 concatenates
    add_units(19, 1, 256 + 512, 512, false);
    add_units(20, 1, 512, 512, false);
    add_conv(21, 512, 256, 1);
    add_head_input(22, 256, 512);
    add_climb(23, 256, 128, 1);  // and 24, 25
    add_units(26, 1, 128 + 256, 256, false);
    add_units(27, 2, 256, 256, false);
  }

  void add_heads(int64_t classes) {
    auto detect = model_->register_module("28", std::make_shared<torch::nn::Module>("28"));
    auto list = detect->register_module("m", std::make_shared<torch::nn::Module>("m"));
    std::vector<nn::Conv2d> convs;
    for (const int64_t channels : {256, 512, 1024}) {
      const auto options = nn::conv(wide(channels), kAnchors * (5 + classes), 1);
      convs.emplace_back(list->register_module(std::to_string(convs.size()), nn::Conv2d(options)));
    }
    blocks_.push_back({"model.28", [convs](const Tensors& x) mutable {
                         return Tensors{convs[0]->forward(x.at(0)), convs[1]->forward(x.at(2)),
                                        convs[2]->forward(x.at(1))};
                       }});
  }

  void initialise() {
    const torch::NoGradGuard no_grad;
    for (nn::WeightLayer* layer : nn::collect(*this)) {
      if (!layer->bias.defined()) {
        init_convolution(*layer);
        continue;
      }
      // Nearly all cells are empty: a head that begins by answering so (1 % objects) spares the
      // first batches a loss made of nothing else.
      nn::draw_normal(layer->weight, 0, 0.01);
      layer->bias.zero_();
      layer->bias.view({kAnchors, -1}).select(1, 4).fill_(-std::log(99.0));
    }
  }

  Options options_;
  std::shared_ptr<torch::nn::Module> model_;
};

}  // namespace

std::shared_ptr<Net> yolov3(const Options& options) {
  return std::make_shared<Yolo>(options);
}

}  // namespace adagp::models
