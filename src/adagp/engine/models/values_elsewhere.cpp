#include "adagp/engine/models/values_elsewhere.h"

#include <limits>

#include <ATen/ATen.h>

namespace adagp::models {

void drop_values(at::Tensor& parameter, at::Device device) {
  const at::NoGradGuard no_grad;
  const auto nothing = std::numeric_limits<double>::quiet_NaN();
  parameter.set_data(at::full({1}, nothing, parameter.options().device(device).requires_grad(false))
                         .expand(parameter.sizes()));
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

}  // namespace adagp::models
