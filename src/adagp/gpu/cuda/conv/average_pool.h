#pragma once
// Average pool of 3x3 with stride 1 and a padding of 1, as Inception has it, and its gradient: the
// same gathering over the same windows. A map is read about once from memory, neighbours come from
// the caches, and written once; sums are in fp32.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct AveragePoolArgs {
  Type type = Type::kFloat;
  Map map;                    // of both arrays: this pool keeps the size
  bool count_padding = true;  // divide by 9 everywhere; else by the positions inside the map
  bool gradient = false;      // in: dy, out: dx; else in: x, out: y
  const void* in = nullptr;
  void* out = nullptr;
};

// Whether the kernel takes it: channels in vectors of eight. Arrays must begin at addresses
// divisible by 16.
bool average_pool_fits(const Map& map);
// Equal input gives equal bits.
void average_pool(const AveragePoolArgs& args, Stream stream);

namespace reference {
void average_pool(const AveragePoolArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
