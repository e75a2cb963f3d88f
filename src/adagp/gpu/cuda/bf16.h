#pragma once
// bf16 on the host, for the references: the upper half of a float.

#include <cstdint>
#include <cstring>

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// Nearest, ties to even. A NaN stays one: rounding its bits could carry over into infinity.
inline uint16_t float_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

inline float bf16_to_float(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

inline float rounded_to_bf16(float value) {
  return bf16_to_float(float_to_bf16(value));
}

// Element i of an array of either type.
inline float load_as_float(const void* from, Type type, int64_t i) {
  if (type == Type::kFloat) return static_cast<const float*>(from)[i];
  return bf16_to_float(static_cast<const uint16_t*>(from)[i]);
}

inline void store_from_float(void* to, Type type, int64_t i, float value) {
  if (type == Type::kFloat) {
    static_cast<float*>(to)[i] = value;
  } else {
    static_cast<uint16_t*>(to)[i] = float_to_bf16(value);
  }
}

}  // namespace adagp::cuda
