#pragma once
// Weight-carrying layers whose gradients can be predicted: Conv2d and Linear.
//
// They are torch::nn::Modules with parameters named `weight` and `bias`, so that state dicts travel
// to and from PyTorch, and differ from LibTorch's own in three ways: they report to the active tap,
// they take meta tensors (shape-only forward, which LibTorch lacks in C++), and built inside a
// ShapeOnlyScope they allocate and initialise nothing.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "adagp/engine/nn/product_rule.h"
#include "adagp/engine/nn/tap.h"

namespace adagp::nn {

enum class LayerKind { kConv2d, kLinear };

// What the layer is, in plain numbers, and how its products are computed.
struct LayerInfo {
  LayerKind kind = LayerKind::kConv2d;
  int64_t in = 0, out = 0;  // channels or features
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  std::array<int64_t, 2> dilation{1, 1};
  int64_t groups = 1;
  // A convolution whose products are computed on copies in contiguous memory (nn/products.h).
  bool contiguous = false;

  int64_t rows() const { return out; }                                  // filters
  int64_t cols() const { return in / groups * kernel[0] * kernel[1]; }  // weights of one filter
};

// Of a layer's parameters, as the reference names them.
struct ParameterNames {
  std::string weight = "weight", bias = "bias";
};

class WeightLayer : public torch::nn::Module {
 public:
  const LayerInfo& info() const { return info_; }
  const ParameterNames& names() const { return names_; }
  // Full name inside the model ("features.3") and position among its weight layers; set by
  // collect().
  const std::string& path() const { return path_; }
  int64_t index() const { return index_; }

  at::Tensor weight;  // [out, in/groups, kh, kw] or [out, in]
  at::Tensor bias;    // [out] or undefined

  // Copies in bf16 that the layer then computes with, and that collect the gradients; whoever moves
  // the weights refreshes them. The weights themselves stay in fp32.
  void make_bf16_copies();
  void drop_bf16_copies();
  at::Tensor bf16_weight, bf16_bias;  // undefined without make_bf16_copies()
  // What the layer computes with.
  const at::Tensor& used_weight() const { return bf16_weight.defined() ? bf16_weight : weight; }
  const at::Tensor& used_bias() const { return bf16_bias.defined() ? bf16_bias : bias; }
  // `x` in the precision of used_weight().
  at::Tensor in_precision(const at::Tensor& x) const;

  // Of a convolution; other layers compute with their tensors as they come.
  void compute_contiguous(bool contiguous) {
    info_.contiguous = contiguous && info_.kind == LayerKind::kConv2d;
  }

  // Not null: computes the products while it applies.
  std::shared_ptr<const ProductRule> rule;
  bool has_rule() const { return rule != nullptr && rule->applies(); }
  // Convolutions by our own kernels where these fit (nn/convolutions.h).
  bool own_kernels = false;

  // Its weights never move: no gradient, no prediction.
  bool frozen() const { return !weight.requires_grad(); }

 protected:
  explicit WeightLayer(LayerInfo info, bool with_bias, ParameterNames names = {});
  void report(const at::Tensor& input, const at::Tensor& output) const {
    if (TapSink* sink = active_sink()) sink->on_output(*this, input, output);
  }
  // "features.3 (conv2d 64->128, 3x3)", for messages.
  std::string describe() const;

 private:
  friend std::vector<WeightLayer*> collect(torch::nn::Module& model);
  LayerInfo info_;
  ParameterNames names_;
  std::string path_;
  int64_t index_ = -1;
};

// All weight layers of a model in registration order, with path and index set. A layer that is
// registered twice comes once, under its first name.
std::vector<WeightLayer*> collect(torch::nn::Module& model);

// While one is alive, modules of this thread are built on the meta device: shapes, no memory.
class ShapeOnlyScope {
 public:
  ShapeOnlyScope();
  ~ShapeOnlyScope();
  ShapeOnlyScope(const ShapeOnlyScope&) = delete;
  ShapeOnlyScope& operator=(const ShapeOnlyScope&) = delete;
};
bool shape_only();
// An uninitialised tensor: on the CPU, or on the meta device inside a scope.
at::Tensor make_tensor(at::IntArrayRef shape, at::TensorOptions options = {});

struct Conv2dOptions {
  int64_t in, out;
  std::array<int64_t, 2> kernel{3, 3};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  std::array<int64_t, 2> dilation{1, 1};
  int64_t groups = 1;
  bool bias = true;
};
// The usual square case.
Conv2dOptions conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t padding = 0,
                   bool bias = true, int64_t groups = 1);

class Conv2dImpl : public WeightLayer {
 public:
  explicit Conv2dImpl(const Conv2dOptions& options);
  at::Tensor forward(const at::Tensor& x);  // [B, in, H, W] -> [B, out, H', W']
  // The product alone: no bias is added, no tap is told. For conv_norm().
  at::Tensor product(const at::Tensor& x) { return convolve(x, {}); }
  // The same for an input that others read afterwards. Replaces x: they must read the new one. So
  // the gradients that they have for it can be added inside this layer's (nn/conv_branch.h).
  at::Tensor shared_product(at::Tensor& x);

 private:
  at::Tensor convolve(const at::Tensor& x, const at::Tensor& added) const;
};
TORCH_MODULE(Conv2d);

class LinearImpl : public WeightLayer {
 public:
  LinearImpl(int64_t in, int64_t out, bool with_bias = true);
  at::Tensor forward(const at::Tensor& x);  // [..., in] -> [..., out]
};
TORCH_MODULE(Linear);

}  // namespace adagp::nn
