#include "adagp/engine/nn/layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/conv_branch.h"
#include "adagp/engine/nn/convolutions.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/products.h"

namespace adagp::nn {
namespace {

thread_local int shape_only_depth = 0;

std::vector<int64_t> weight_shape(const LayerInfo& info) {
  if (info.kind == LayerKind::kLinear) return {info.out, info.in};
  return {info.out, info.in / info.groups, info.kernel[0], info.kernel[1]};
}

void check_info(const LayerInfo& info) {
  const auto positive = [](const std::array<int64_t, 2>& pair) {
    return pair[0] > 0 && pair[1] > 0;
  };
  if (info.in < 1 || info.out < 1) {
    throw UsageError(core::cat("layer of ", info.in, " inputs and ", info.out,
                               " outputs: both must be at least 1"));
  }
  if (info.groups < 1 || info.in % info.groups != 0 || info.out % info.groups != 0) {
    throw UsageError(core::cat("conv2d ", info.in, "->", info.out, ": ", info.groups,
                               " groups do not divide the channels"));
  }
  if (!positive(info.kernel) || !positive(info.stride) || !positive(info.dilation) ||
      info.padding[0] < 0 || info.padding[1] < 0) {
    throw UsageError(core::cat("conv2d ", info.in, "->", info.out,
                               ": kernel, stride and dilation must be positive, padding not "
                               "negative"));
  }
}

LayerInfo conv_info(const Conv2dOptions& o) {
  return {LayerKind::kConv2d, o.in, o.out, o.kernel, o.stride, o.padding, o.dilation, o.groups, {}};
}

LayerInfo linear_info(int64_t in, int64_t out) {
  LayerInfo info;
  info.kind = LayerKind::kLinear;
  info.in = in;
  info.out = out;
  return info;
}

}  // namespace

ShapeOnlyScope::ShapeOnlyScope() {
  ++shape_only_depth;
}
ShapeOnlyScope::~ShapeOnlyScope() {
  --shape_only_depth;
}
bool shape_only() {
  return shape_only_depth > 0;
}

WeightLayer::WeightLayer(LayerInfo info, bool with_bias, ParameterNames names)
    : info_(info), names_(std::move(names)) {
  check_info(info_);
  weight = register_parameter(names_.weight, make_tensor(weight_shape(info_)));
  if (with_bias) bias = register_parameter(names_.bias, make_tensor({info_.out}));
  if (shape_only()) return;

  // PyTorch's default, in PyTorch's order of operations: kaiming_uniform with a = sqrt(5).
  torch::NoGradGuard no_grad;
  const double fan_in = static_cast<double>(info_.cols());
  const double a = std::sqrt(5.0);
  const double gain = std::sqrt(2.0 / (1.0 + a * a));
  const double bound = std::sqrt(3.0) * (gain / std::sqrt(fan_in));
  draw_uniform(weight, -bound, bound);
  if (with_bias) {
    const double bias_bound = 1.0 / std::sqrt(fan_in);
    draw_uniform(bias, -bias_bound, bias_bound);
  }
}

void WeightLayer::make_bf16_copies() {
  const at::NoGradGuard no_grad;
  const auto copy = [](const at::Tensor& value) {
    return value.detach().to(at::kBFloat16).requires_grad_(value.requires_grad());
  };
  bf16_weight = copy(weight);
  if (bias.defined()) bf16_bias = copy(bias);
}

void WeightLayer::drop_bf16_copies() {
  bf16_weight.reset();
  bf16_bias.reset();
}

at::Tensor WeightLayer::in_precision(const at::Tensor& x) const {
  return bf16_weight.defined() ? x.to(at::kBFloat16) : x;
}

std::string WeightLayer::describe() const {
  const bool is_conv = info_.kind == LayerKind::kConv2d;
  const std::string what = is_conv ? core::cat("conv2d ", info_.in, "->", info_.out, ", ",
                                               info_.kernel[0], "x", info_.kernel[1])
                                   : core::cat("linear ", info_.in, "->", info_.out);
  return path_.empty() ? what : path_ + " (" + what + ")";
}

std::vector<WeightLayer*> collect(torch::nn::Module& model) {
  std::vector<WeightLayer*> layers;
  const auto add = [&layers](const std::string& path, torch::nn::Module& module) {
    auto* layer = dynamic_cast<WeightLayer*>(&module);
    if (layer == nullptr || std::find(layers.begin(), layers.end(), layer) != layers.end()) return;
    layer->path_ = path;
    layer->index_ = static_cast<int64_t>(layers.size());
    layers.push_back(layer);
  };
  add("", model);
  // Without the model itself, which need not live in a shared pointer.
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    add(item.key(), *item.value());
  }
  return layers;
}

Conv2dOptions conv(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                   bool bias, int64_t groups) {
  return {in, out, {kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}, groups, bias};
}

Conv2dImpl::Conv2dImpl(const Conv2dOptions& options)
    : WeightLayer(conv_info(options), options.bias) {}

at::Tensor Conv2dImpl::forward(const at::Tensor& x) {
  const at::Tensor y = convolve(x, used_bias());
  report(x, y);
  return y;
}

at::Tensor Conv2dImpl::shared_product(at::Tensor& x) {
  if (has_rule() || !fits_conv_branch(info(), x, used_weight())) return product(x);
  ConvBranch branch = conv_branch(x, used_weight());
  x = std::move(branch.passed_on);
  return branch.product;
}

at::Tensor Conv2dImpl::convolve(const at::Tensor& x, const at::Tensor& added) const {
  const LayerInfo& c = info();
  if (x.dim() != 4 || x.size(1) != c.in) {
    throw UsageError(
        core::cat(describe(), ": input ", x.sizes(), ", expected [B, ", c.in, ", H, W]"));
  }
  std::array<int64_t, 2> size{};
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t reach = c.dilation[axis] * (c.kernel[axis] - 1) + 1;
    const int64_t room = x.size(2 + axis) + 2 * c.padding[axis] - reach;
    if (room < 0) {
      throw UsageError(core::cat(describe(), ": input ", x.sizes(), " is smaller than the kernel (",
                                 reach, " with padding ", c.padding[axis],
                                 "): the image is too small for this network"));
    }
    size[axis] = room / c.stride[axis] + 1;
  }
  const Convolution asked{*this, x, added, size};
  return find_convolution(asked).run(asked);
}

LinearImpl::LinearImpl(int64_t in, int64_t out, bool with_bias)
    : WeightLayer(linear_info(in, out), with_bias) {}

at::Tensor LinearImpl::forward(const at::Tensor& x) {
  if (x.dim() < 1 || x.size(-1) != info().in) {
    throw UsageError(
        core::cat(describe(), ": input ", x.sizes(), ", expected [..., ", info().in, "]"));
  }
  at::Tensor y;
  if (x.is_meta() || weight.is_meta()) {
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = info().out;
    y = at::empty(shape, x.options().device(at::kMeta));
  } else if (has_rule()) {
    y = rule->product(*this, x, used_weight(), used_bias());
  } else {
    y = differentiable_product(info(), in_precision(x), used_weight(), used_bias());
  }
  report(x, y);
  return y;
}

}  // namespace adagp::nn
