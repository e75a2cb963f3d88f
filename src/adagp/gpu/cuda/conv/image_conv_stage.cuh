#pragma once
// What the kernels of the first convolution share. They are products on tensor cores whose one side
// is gathered from a band of the image in shared memory. A block has several bands: while it works
// on one, the next is on its way.

#include <cstdint>

#include <cuda_runtime.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/conv/eight_channels.h"
#include "adagp/gpu/cuda/conv/image_conv_plan.h"
#include "adagp/gpu/cuda/mma.cuh"

namespace adagp::cuda::image_conv {

using eight::Bf16;

__device__ inline float2 load_pair(const float* from) {
  return __ldg(reinterpret_cast<const float2*>(from));
}
__device__ inline uint32_t load_pair(const Bf16* from) {
  return __ldg(reinterpret_cast<const unsigned int*>(from));
}
__device__ inline uint32_t low_pair(const float2& pair) {
  return pack_low(pair.x, pair.y);
}
__device__ inline uint32_t low_pair(uint32_t pair) {
  return pair;
}
__device__ inline uint32_t joined(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

// Brings bands to shared memory. fetch() only begins to load, put() waits for it and stores.
template <typename T>
struct Stage {
  // Pairs of a thread that fetch() loads; all of them where images are 32 wide.
  static constexpr int kHeld = 2;
  using Pair = decltype(load_pair(static_cast<const T*>(nullptr)));

  const Bands& bands;
  const T* x;
  Pair held[kHeld];

  __device__ Stage(const Bands& bands_in, const void* x_in)
      : bands(bands_in), x(static_cast<const T*>(x_in)) {}

  // Zeros once: what is around the image's columns is never written again.
  __device__ static void clear(const Bands& bands, uint16_t* memory) {
    auto* words = reinterpret_cast<uint32_t*>(memory);
    for (int i = static_cast<int>(threadIdx.x); i < bands.elements(); i += kThreads) words[i] = 0;
  }

  __device__ Pair load(int unit, int i) const {
    const int row = static_cast<int>(plan::quotient(static_cast<uint32_t>(i), bands.pairs));
    const uint32_t image = plan::quotient(static_cast<uint32_t>(unit), bands.per_image);
    const uint32_t band = static_cast<uint32_t>(unit) - image * bands.per_image.divisor;
    const bool above = row == 0 && band == 0;
    const bool below = row == bands.rows + 1 && band + 1 == bands.per_image.divisor;
    if (above || below) return Pair{};
    // Bands lie one behind the other, and this one begins a row earlier.
    const int64_t start = (static_cast<int64_t>(unit) * bands.rows - 1) * (kChannels * bands.width);
    return load_pair(x + start + 2 * i);
  }
  __device__ void store(uint16_t* to, int i, const Pair& pair) const {
    const int row = static_cast<int>(plan::quotient(static_cast<uint32_t>(i), bands.pairs));
    *reinterpret_cast<uint32_t*>(to + staged_pair(i, row)) = low_pair(pair);
  }

  template <int kCount>
  __device__ void load_some(int unit, int from, Pair (&to)[kCount]) const {
#pragma unroll
    for (int h = 0; h < kCount; ++h) {
      const int i = from + static_cast<int>(threadIdx.x) + h * kThreads;
      if (i < bands.all_pairs()) to[h] = load(unit, i);
    }
  }
  template <int kCount>
  __device__ void store_some(uint16_t* to, int from, const Pair (&pairs)[kCount]) const {
#pragma unroll
    for (int h = 0; h < kCount; ++h) {
      const int i = from + static_cast<int>(threadIdx.x) + h * kThreads;
      if (i < bands.all_pairs()) store(to, i, pairs[h]);
    }
  }

  __device__ void fetch(int unit) {
    load_some(unit, 0, held);
  }
  __device__ void put(int unit, uint16_t* to) const {
    store_some(to, 0, held);
    constexpr int kMore = 2;  // more would spill
#pragma unroll 1
    for (int from = kHeld * kThreads; from < bands.all_pairs(); from += kMore * kThreads) {
      Pair more[kMore];
      load_some(unit, from, more);
      store_some(to, from, more);
    }
  }
};

__device__ inline const uint16_t* window(const Bands& bands, const uint16_t* band, int position) {
  const auto row = plan::quotient(static_cast<uint32_t>(position), bands.columns);
  return band + staged_position(position, static_cast<int>(row));
}

inline Bands checked(const ImageConvArgs& args) {
  if (image_conv_fits(args.map, args.filters)) return bands_of(args.map);
  throw Error(core::cat("first convolution: map of ", args.map.batch, "x", args.map.height, "x",
                        args.map.width, "x", args.map.channels, ", ", args.filters,
                        " filters: not what the kernels take; use at::conv2d"));
}

// Calls f.template operator()<T, kFilters>().
template <typename F>
void dispatch(const ImageConvArgs& args, const F& f) {
  if (args.x_type == Type::kFloat) {
    args.filters == 32 ? f.template operator()<float, 32>() : f.template operator()<float, 64>();
  } else {
    args.filters == 32 ? f.template operator()<Bf16, 32>() : f.template operator()<Bf16, 64>();
  }
}

}  // namespace adagp::cuda::image_conv
