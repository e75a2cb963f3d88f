#pragma once
// Lists of activations in a checkpoint.

#include <map>
#include <string>

#include "adagp/engine/models/model.h"

namespace adagp::method {

// A file holds tensors in the order of their indices. The names also say which of them are leaves
// and which lie channels-last in memory, so that a resumed run computes the same bits.
void put_tensors(std::map<std::string, at::Tensor>& state, const std::string& name,
                 const models::Tensors& tensors);
// Empty where there are none of this name.
models::Tensors take_tensors(const std::map<std::string, at::Tensor>& state,
                             const std::string& name);

}  // namespace adagp::method
