#include "adagp/engine/predictor/layout.h"

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/memory_order.h"

namespace adagp::predictor {
namespace {

bool stored_channels_last(const at::Tensor& weight) {
  return weight.dim() == 4 && !weight.is_contiguous() &&
         weight.is_contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

at::Tensor as_rows(const at::Tensor& weight) {
  if (stored_channels_last(weight)) return weight.permute({0, 2, 3, 1}).view({weight.size(0), -1});
  return weight.view({weight.size(0), -1});
}

at::Tensor like_weight(const at::Tensor& rows, const at::Tensor& weight) {
  if (!stored_channels_last(weight)) return rows.view(weight.sizes());
  return rows.view({weight.size(0), weight.size(2), weight.size(3), weight.size(1)})
      .permute({0, 3, 1, 2});
}

at::Tensor gradient_of(const nn::WeightLayer& layer) {
  // Added up over micro-batches, the gradient is with the fp32 weight.
  const at::Tensor& weight =
      layer.used_weight().grad().defined() ? layer.used_weight() : layer.weight;
  const at::Tensor& gradient = weight.grad();
  if (!gradient.defined()) {
    throw Error("layer '" + layer.path() + "' has no gradient: is it used by the forward pass?");
  }
  if (device::same_order(gradient, weight)) return device::with_strides_of(gradient, weight);
  at::Tensor copy = at::empty_like(weight, weight.options().requires_grad(false));
  copy.copy_(gradient);
  return copy;
}

at::Tensor bias_gradient_of(const nn::WeightLayer& layer) {
  if (!layer.bias.defined()) return {};
  const at::Tensor& made = layer.used_bias().grad();
  return made.defined() ? made : layer.bias.grad();
}

at::TensorOptions predictor_options(const std::vector<nn::WeightLayer*>& layers) {
  const at::Tensor& weight = layers.front()->weight;
  const auto dtype = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::TensorOptions(weight.device()).dtype(dtype);
}

}  // namespace adagp::predictor
