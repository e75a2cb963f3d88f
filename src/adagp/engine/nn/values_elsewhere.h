#pragma once
// Parameters whose values lie in another process: only their shapes are here.

#include <torch/types.h>

namespace adagp::nn {

// On the CPU: it has the shape and reads as NaN; to write to it is an error.
at::Tensor shape_without_values(at::IntArrayRef shape, at::TensorOptions options = {});
// Gives the memory back. What is left is shape_without_values() on this device.
void drop_values(at::Tensor& parameter, at::Device device);
bool has_values(const at::Tensor& parameter);
// Memory again, of unknown content and in the layout that a session gives its parameters.
void make_room(at::Tensor& parameter);

}  // namespace adagp::nn
