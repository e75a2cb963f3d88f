#include "adagp/engine/nn/values_elsewhere.h"

#include <limits>

#include <ATen/ATen.h>

namespace adagp::nn {

at::Tensor shape_without_values(at::IntArrayRef shape, at::TensorOptions options) {
  return at::full({1}, std::numeric_limits<double>::quiet_NaN(), options).expand(shape);
}

void drop_values(at::Tensor& parameter, at::Device device) {
  const at::NoGradGuard no_grad;
  const auto options = parameter.options().device(device).requires_grad(false);
  parameter.set_data(shape_without_values(parameter.sizes(), options));
}

bool has_values(const at::Tensor& parameter) {
  const auto one = static_cast<size_t>(parameter.element_size());
  return parameter.numel() <= 1 || parameter.storage().nbytes() > one;
}

void make_room(at::Tensor& parameter) {
  const at::NoGradGuard no_grad;
  const auto layout =
      parameter.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  parameter.set_data(
      at::empty(parameter.sizes(), parameter.options().requires_grad(false), layout));
}

}  // namespace adagp::nn
