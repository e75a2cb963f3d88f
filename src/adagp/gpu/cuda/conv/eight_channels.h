#pragma once
// Eight channels of a map as a thread holds them, for code that a kernel and tests on a CPU share.

#include <cstdint>
#include <cstring>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

namespace adagp::cuda::eight {

using plan::kLanes;  // channels of a thread: 16 bytes of bf16

struct Bf16 {
  uint16_t bits;
};
// Eight channels as they lie in memory.
template <typename T>
struct alignas(16) Eight {
  uint32_t word[kLanes * sizeof(T) / 4];
};

ADAGP_ON_BOTH_SIDES inline float float_of(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
#endif
}
ADAGP_ON_BOTH_SIDES inline uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  uint32_t out;
  std::memcpy(&out, &value, 4);
  return out;
#endif
}
// Two bf16, rounded to nearest even.
ADAGP_ON_BOTH_SIDES inline uint32_t bf16_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<uint32_t>(__bfloat16_as_ushort(pair.x)) |
         static_cast<uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
#else
  return float_to_bf16(low) | static_cast<uint32_t>(float_to_bf16(high)) << 16;
#endif
}

ADAGP_ON_BOTH_SIDES inline float element(const Eight<float>& from, int k) {
  return float_of(from.word[k]);
}
ADAGP_ON_BOTH_SIDES inline float element(const Eight<Bf16>& from, int k) {
  const uint32_t pair = from.word[k / 2];
  return float_of(k % 2 == 0 ? pair << 16 : pair & 0xFFFF0000U);
}
ADAGP_ON_BOTH_SIDES inline void pack(const float (&value)[kLanes], Eight<float>& to) {
  ADAGP_UNROLL
  for (int k = 0; k < kLanes; ++k) to.word[k] = bits_of(value[k]);
}
ADAGP_ON_BOTH_SIDES inline void pack(const float (&value)[kLanes], Eight<Bf16>& to) {
  ADAGP_UNROLL
  for (int k = 0; k < kLanes; k += 2) to.word[k / 2] = bf16_pair(value[k], value[k + 1]);
}
ADAGP_ON_BOTH_SIDES inline float number(const float& from) {
  return from;
}
ADAGP_ON_BOTH_SIDES inline float number(const Bf16& from) {
  return float_of(static_cast<uint32_t>(from.bits) << 16);
}
ADAGP_ON_BOTH_SIDES inline void put(float value, float& to) {
  to = value;
}
ADAGP_ON_BOTH_SIDES inline void put(float value, Bf16& to) {
  to.bits = static_cast<uint16_t>(bf16_pair(value, 0));
}

template <typename T>
ADAGP_ON_BOTH_SIDES Eight<T> load(const T* from) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Eight<T>*>(from);
#else
  Eight<T> out;
  std::memcpy(&out, from, sizeof(out));
  return out;
#endif
}
template <typename T>
ADAGP_ON_BOTH_SIDES void store(T* to, const Eight<T>& value) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<Eight<T>*>(to) = value;
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

}  // namespace adagp::cuda::eight
