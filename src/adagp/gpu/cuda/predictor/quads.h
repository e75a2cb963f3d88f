#pragma once

#include <cstdint>

namespace adagp::cuda {

// Whether an array of `bytes`-sized elements begins at a multiple of four of them; null does.
inline bool allows_quads(const void* array, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(array) % static_cast<uintptr_t>(4 * bytes) == 0;
}

}  // namespace adagp::cuda
