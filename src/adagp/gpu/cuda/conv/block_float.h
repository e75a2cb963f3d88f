#pragma once
// Block floating point: groups of 16 numbers share the largest one's exponent, and each keeps its
// sign and m bits (FAST, HPCA 2022). The result is stored as ordinary numbers.
//
//   E = largest exponent of the group,   q = 2^(E - (m - 1)),
//   y = sign(x) * min(floor(|x| / q + u), 2^m - 1) * q,
// u = 0 (truncate), 1/2 (nearest) or one of 0/256 .. 255/256 (stochastic).
// Numbers below 2^-126 are zeros. A group with an infinity or a NaN stays as it is.

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

enum class Rounding { kTruncate, kNearest, kStochastic };

struct BlockFloatArgs {
  static constexpr int kGroup = 16, kMostBits = 24;

  const void* in = nullptr;  // [outer, length, inner]
  void* out = nullptr;       // same shape; bf16 keeps up to 8 bits
  Type in_type = Type::kFloat, out_type = Type::kFloat;
  // Groups are along `length`; the last one of a row may be shorter.
  int64_t outer = 1, length = 0, inner = 1;
  const int32_t* bits = nullptr;  // [1], on the device: m, 1 to 24; 0: nothing is rounded
  Rounding rounding = Rounding::kNearest;
  // Stochastic: eight random bits of an element come from *seed, tag and its place in memory.
  const int64_t* seed = nullptr;  // [1], on the device
  uint64_t tag = 0;
  // Not null, and a finite number there: E is at least the exponent of *largest, less `window`.
  const float* largest = nullptr;  // [1], on the device
  int window = 0;
};
void block_float(const BlockFloatArgs& args, Stream stream);

namespace reference {
void block_float(const BlockFloatArgs& args);
}

// The random bits of elements 8 * eighth .. 8 * eighth + 7, a byte each, the first one lowest.
ADAGP_ON_BOTH_SIDES constexpr uint64_t random_bytes(uint64_t seed, uint64_t tag, uint64_t eighth) {
  uint64_t x = seed ^ (tag * 0x9E3779B97F4A7C15ULL) ^ (eighth * 0xD1B54A32D192ED03ULL);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;  // splitmix64
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace adagp::cuda
