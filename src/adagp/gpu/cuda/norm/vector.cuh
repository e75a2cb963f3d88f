#pragma once
// Eight channels of an activation in a thread's registers.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <initializer_list>

#include "adagp/gpu/cuda/norm/norm_plan.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda::norm {

using plan::kLanes;
using plan::kThreads;
using plan::quotient;

// As they lie in memory: 16 bytes of bf16, 32 of float.
template <typename T>
struct Raw {
  uint4 part[sizeof(T) / 2];
};

__device__ inline uint32_t word(const uint4& from, int at) {
  return at == 0 ? from.x : at == 1 ? from.y : at == 2 ? from.z : from.w;
}

// Channel k of the eight; k must be known to the compiler.
__device__ inline float element(const Raw<float>& raw, int k) {
  return __uint_as_float(word(raw.part[k / 4], k % 4));
}
__device__ inline float element(const Raw<__nv_bfloat16>& raw, int k) {
  const uint32_t pair = word(raw.part[0], k / 2);
  return __uint_as_float(k % 2 == 0 ? pair << 16 : pair & 0xFFFF0000U);
}

__device__ inline uint32_t bf16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<uint32_t>(__bfloat16_as_ushort(pair.x)) |
         static_cast<uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
}

// Rounded to nearest even.
__device__ inline void pack(const float (&v)[kLanes], Raw<float>& raw) {
  raw.part[0] = {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                 __float_as_uint(v[3])};
  raw.part[1] = {__float_as_uint(v[4]), __float_as_uint(v[5]), __float_as_uint(v[6]),
                 __float_as_uint(v[7])};
}
__device__ inline void pack(const float (&v)[kLanes], Raw<__nv_bfloat16>& raw) {
  raw.part[0] = {bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3]), bf16_pair(v[4], v[5]),
                 bf16_pair(v[6], v[7])};
}

// The value that memory of type T would hold.
template <typename T>
__device__ inline float rounded(float value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else {
    return __bfloat162float(__float2bfloat16_rn(value));
  }
}

// The first `valid` of eight channels, the others zero. Not through the read-only cache: an output
// may be the same memory. kAligned: all eight, at an address divisible by 16.
template <bool kAligned, typename T>
__device__ inline Raw<T> load(const T* from, int valid) {
  Raw<T> raw;
  if constexpr (kAligned) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
      raw.part[i] = reinterpret_cast<const uint4*>(from)[i];
    }
  } else {
    float value[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) value[k] = k < valid ? static_cast<float>(from[k]) : 0.0F;
    pack(value, raw);
  }
  return raw;
}

template <bool kAligned, typename T>
__device__ inline void store(T* to, const Raw<T>& raw, int valid) {
  if constexpr (kAligned) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
      reinterpret_cast<uint4*>(to)[i] = raw.part[i];
    }
  } else {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (k < valid) to[k] = static_cast<T>(element(raw, k));  // exact: it was rounded before
    }
  }
}

// Eight parameters of the channels; zeros where `from` is null.
template <bool kAligned>
__device__ inline void load_params(const float* from, int channel, int valid, float (&to)[kLanes]) {
  if (from == nullptr) {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) to[k] = 0;
    return;
  }
  const Raw<float> raw = load<kAligned>(from + channel, valid);
#pragma unroll
  for (int k = 0; k < kLanes; ++k) to[k] = element(raw, k);
}

// Which channels and which of a block's positions a thread has.
struct Lane {
  int row = 0, channel = 0, valid = 0;  // valid: channels that exist, 0 when there is nothing to do
};
__device__ inline Lane lane_of(const plan::Tiling& tiling, int tile) {
  const int thread = static_cast<int>(threadIdx.x);
  Lane out;
  out.row = thread / tiling.width;
  out.channel = (tile * tiling.width + thread % tiling.width) * kLanes;
  if (out.row < tiling.rows) out.valid = max(0, min(kLanes, tiling.channels - out.channel));
  return out;
}

__device__ inline uint64_t offset_of(uint32_t position, const plan::Tiling& tiling) {
  return static_cast<uint64_t>(position) * static_cast<uint32_t>(tiling.channels);
}

// Of maps whose positions are `pitch` elements apart.
__device__ inline uint64_t offset_of(uint32_t position, uint32_t pitch) {
  return static_cast<uint64_t>(position) * pitch;
}
inline uint32_t pitch_or_channels(int64_t given, const Map& map) {
  return static_cast<uint32_t>(given == 0 ? map.channels : given);
}

// Whether all eight channels of every thread can be loaded at once.
inline bool aligned(int64_t channels, std::initializer_list<const void*> pointers) {
  bool all = channels % kLanes == 0;
  for (const void* pointer : pointers) all = all && reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
  return all;
}

// Calls f.template operator()<T, kAligned>().
template <typename F>
void dispatch(Type type, bool is_aligned, const F& f) {
  if (type == Type::kFloat) {
    is_aligned ? f.template operator()<float, true>() : f.template operator()<float, false>();
  } else {
    is_aligned ? f.template operator()<__nv_bfloat16, true>()
               : f.template operator()<__nv_bfloat16, false>();
  }
}

}  // namespace adagp::cuda::norm
