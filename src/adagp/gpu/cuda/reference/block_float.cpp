// In double: every quotient, sum and product below is exact there.

#include <algorithm>
#include <cmath>
#include <limits>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/conv/block_float.h"

namespace adagp::cuda {
namespace {

struct Scale {
  double quantum = 1, inverse = 1, most = 0;
};

double addend(const BlockFloatArgs& args, uint64_t place) {
  if (args.rounding == Rounding::kTruncate) return 0;
  if (args.rounding == Rounding::kNearest) return 0.5;
  const uint64_t bytes = random_bytes(static_cast<uint64_t>(*args.seed), args.tag, place / 8);
  return static_cast<double>(bytes >> (8 * (place % 8)) & 0xFFU) / 256;
}

float rounded(float x, const Scale& scale, double u) {
  const double count = std::floor(std::fabs(static_cast<double>(x)) * scale.inverse + u);
  return static_cast<float>(
      std::copysign(std::min(count, scale.most) * scale.quantum, static_cast<double>(x)));
}

void one_group(const BlockFloatArgs& args, int64_t first, int64_t count) {
  float largest = 0;
  bool finite = true;
  for (int64_t j = 0; j < count; ++j) {
    const float x = std::fabs(load_as_float(args.in, args.in_type, first + j * args.inner));
    finite = finite && std::isfinite(x);
    largest = std::max(largest, x);
  }
  const int bits = *args.bits;
  const bool empty = largest < std::numeric_limits<float>::min();
  Scale scale;
  if (finite && !empty) {
    int exponent = std::ilogb(largest);
    if (args.largest != nullptr && std::isnormal(*args.largest)) {
      exponent = std::max(exponent, std::ilogb(*args.largest) - args.window);
    }
    scale.quantum = std::ldexp(1.0, exponent - (bits - 1));
    scale.inverse = 1 / scale.quantum;
    scale.most = std::ldexp(1.0, bits) - 1;
  }
  for (int64_t j = 0; j < count; ++j) {
    const int64_t place = first + j * args.inner;
    float x = load_as_float(args.in, args.in_type, place);
    if (finite && bits > 0) {
      const bool zero = std::fabs(x) < std::numeric_limits<float>::min();
      x = zero ? std::copysign(0.0F, x)
               : rounded(x, scale, addend(args, static_cast<uint64_t>(place)));
    }
    store_from_float(args.out, args.out_type, place, x);
  }
}

}  // namespace

void reference::block_float(const BlockFloatArgs& args) {
  for (int64_t o = 0; o < args.outer; ++o) {
    for (int64_t first = 0; first < args.length; first += BlockFloatArgs::kGroup) {
      const int64_t count = std::min<int64_t>(BlockFloatArgs::kGroup, args.length - first);
      for (int64_t i = 0; i < args.inner; ++i) {
        one_group(args, (o * args.length + first) * args.inner + i, count);
      }
    }
  }
}

}  // namespace adagp::cuda
