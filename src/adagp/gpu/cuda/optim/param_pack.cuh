#pragma once
// Many parameters as one kernel's arguments, shared out to blocks in chunks of one parameter each.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::cuda::slots {

using Low = __nv_bfloat16;

constexpr int kMost = 320;  // parameters per launch; a kernel's arguments have 32,764 bytes
constexpr int kThreads = 256, kChunk = 4096;

struct Packed {
  float *weight, *first, *second;
  const float* steps;
  void* low;
  const void* gradient;
  int64_t count;
  float decay;
  bool low_gradient;  // bf16
  bool vectors;       // all arrays are aligned to four elements
};

struct Pack {
  Packed slot[kMost];
  unsigned end[kMost];  // chunks of this slot and those before it
  int count = 0;

  unsigned chunks() const { return count == 0 ? 0 : end[count - 1]; }
};
static_assert(sizeof(Pack) + 128 <= 32764);

inline bool aligned(const void* array, int64_t element) {
  return reinterpret_cast<uintptr_t>(array) % static_cast<uintptr_t>(4 * element) == 0;
}

inline void add(Pack& pack, const ParamSlot& slot) {
  Packed& to = pack.slot[pack.count];
  to = {slot.weight, slot.first, slot.second,
        slot.steps,  slot.low,   slot.gradient,
        slot.count,  slot.decay, slot.gradient_type == Type::kBFloat16,
        false};
  to.vectors = aligned(slot.weight, 4) && aligned(slot.first, 4) && aligned(slot.second, 4) &&
               aligned(slot.low, 2) && aligned(slot.gradient, size_of(slot.gradient_type));
  const int64_t chunks = (slot.count + kChunk - 1) / kChunk;
  pack.end[pack.count] = pack.chunks() + static_cast<unsigned>(chunks);
  ++pack.count;
}

template <typename Keep>
std::vector<Pack> packs_of(const ParamSlot* slots, int64_t count, const Keep& keep) {
  std::vector<Pack> packs;
  for (const ParamSlot* slot = slots; slot != slots + count; ++slot) {
    if (!keep(*slot)) continue;
    if (packs.empty() || packs.back().count == kMost) packs.emplace_back();
    add(packs.back(), *slot);
  }
  return packs;
}

struct Chunk {
  int slot;
  int64_t begin, end;  // elements
};

__device__ inline Chunk chunk_at(const Pack& pack, unsigned chunk) {
  int low = 0, high = pack.count - 1;  // the first slot whose end is behind the chunk
  while (low < high) {
    const int middle = (low + high) / 2;
    if (pack.end[middle] > chunk) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const unsigned before = low == 0 ? 0 : pack.end[low - 1];
  const int64_t begin = static_cast<int64_t>(chunk - before) * kChunk;
  const int64_t count = pack.slot[low].count;
  return {low, begin, begin + kChunk < count ? begin + kChunk : count};
}

template <int W>
using Width = std::integral_constant<int, W>;

// Shares the chunk's elements out to the block's threads: work(i, Width<4>) for the four from i on
// where vectors are allowed, work(i, Width<1>) for the rest.
template <typename Work>
__device__ void walk(const Chunk& chunk, bool vectors, const Work& work) {
  const int64_t whole = vectors ? chunk.begin + (chunk.end - chunk.begin) / 4 * 4 : chunk.begin;
  for (int64_t i = chunk.begin + 4 * threadIdx.x; i < whole; i += 4 * kThreads) {
    work(i, Width<4>());
  }
#pragma unroll 1
  for (int64_t i = whole + threadIdx.x; i < chunk.end; i += kThreads) work(i, Width<1>());
}

__device__ inline void load(const float* from, Width<1>, float* to) {
  *to = *from;
}
__device__ inline void load(const Low* from, Width<1>, float* to) {
  *to = __bfloat162float(*from);
}
__device__ inline void load(const float* from, Width<4>, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
__device__ inline void load(const Low* from, Width<4>, float* to) {
  const uint2 four = *reinterpret_cast<const uint2*>(from);  // bf16: the upper half of a float
  to[0] = __uint_as_float(four.x << 16), to[1] = __uint_as_float(four.x & 0xFFFF0000U);
  to[2] = __uint_as_float(four.y << 16), to[3] = __uint_as_float(four.y & 0xFFFF0000U);
}

__device__ inline unsigned bits_of(const __nv_bfloat162& pair) {
  return reinterpret_cast<const unsigned&>(pair);
}
__device__ inline void store(float* to, Width<1>, const float* from) {
  *to = *from;
}
__device__ inline void store(Low* to, Width<1>, const float* from) {
  *to = __float2bfloat16_rn(*from);
}
__device__ inline void store(float* to, Width<4>, const float* from) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ inline void store(Low* to, Width<4>, const float* from) {
  const __nv_bfloat162 a = __floats2bfloat162_rn(from[0], from[1]);
  const __nv_bfloat162 b = __floats2bfloat162_rn(from[2], from[3]);
  *reinterpret_cast<uint2*>(to) = make_uint2(bits_of(a), bits_of(b));
}

}  // namespace adagp::cuda::slots
