#pragma once
// Average pool of 2x2 with stride 2, as between the blocks of DenseNet, and its gradient.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct HalvingPoolArgs {
  Type type = Type::kFloat;
  Map map;                // of the larger array: x or dx
  bool gradient = false;  // in: dy, out: dx; else in: x, out: y
  const void* in = nullptr;
  void* out = nullptr;
};

// Whether the kernel takes it: even sides, channels in vectors of eight. Arrays must begin at
// addresses divisible by 16.
bool halving_pool_fits(const Map& map);
// Equal input gives equal bits.
void halving_pool(const HalvingPoolArgs& args, Stream stream);

namespace reference {
void halving_pool(const HalvingPoolArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
