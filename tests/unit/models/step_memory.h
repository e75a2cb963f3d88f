#pragma once
// What reversible networks save.

#include <optional>

#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/reversible.h"
#include "unit/peak_memory.h"

namespace adagp::models {

// Bytes of a step beside the network and its gradients.
inline int64_t activation_bytes(Net& net, const at::Tensor& images, bool keep) {
  net.train();
  const auto step = [&] {
    std::optional<nn::KeepActivations> kept;
    if (keep) kept.emplace();
    net.forward(images).square().sum().backward();
  };
  step();  // gradients are there from now on
  return testing::peak_bytes(step);
}

}  // namespace adagp::models
