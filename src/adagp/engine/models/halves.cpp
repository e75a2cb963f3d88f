#include "adagp/engine/models/halves.h"

#include <optional>

#include <ATen/ATen.h>

namespace adagp::models {

nn::Halves halves_of(const at::Tensor& x) {
  const int64_t half = x.size(1) / 2;
  if (x.is_meta()) {
    const auto part = [&] {
      return at::empty({x.size(0), half, x.size(2), x.size(3)}, x.options());
    };
    return {part(), part()};
  }
  const auto format = x.suggest_memory_format();
  return {x.narrow(1, 0, half).contiguous(format), x.narrow(1, half, half).contiguous(format)};
}

nn::Halves run_halves(const nn::ReversibleBlocks& blocks, const at::Tensor& x, bool reversible) {
  std::optional<nn::KeepActivations> keep;
  if (!reversible) keep.emplace();
  return nn::reversible(blocks, halves_of(x));
}

}  // namespace adagp::models
