#pragma once
// Parameters whose values lie in another process: only their shapes are here.

#include <torch/types.h>

namespace adagp::models {

// Gives the memory back. What is left has the shape and reads as NaN; to write to it is an error.
void drop_values(at::Tensor& parameter, at::Device device);
bool has_values(const at::Tensor& parameter);
// Memory again, of unknown content and in the layout that a session gives its parameters.
void make_room(at::Tensor& parameter);

}  // namespace adagp::models
