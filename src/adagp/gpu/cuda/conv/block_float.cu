// Along the innermost axis four threads share a group, so that a warp reads memory in one piece;
// along another axis a thread has a group of its own, and its neighbours the groups beside it.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "adagp/gpu/cuda/conv/block_float.h"
#include "adagp/gpu/cuda/scalar.cuh"

namespace adagp::cuda {
namespace {

constexpr int kThreads = 256, kGroup = BlockFloatArgs::kGroup;
constexpr int kShare = 4, kLanes = kGroup / kShare;  // elements of a thread, threads of a group
constexpr int64_t kMostBlocks = 1 << 20;

struct Rule {
  int bits;
  int window;  // lowest biased exponent that a group has
  Rounding rounding;
  uint64_t seed, tag;
};

__device__ Rule rule_of(const BlockFloatArgs& args) {
  Rule rule{*args.bits, 0, args.rounding, 0, args.tag};
  if (args.rounding == Rounding::kStochastic) rule.seed = static_cast<uint64_t>(*args.seed);
  if (args.largest != nullptr && isfinite(*args.largest)) {
    rule.window = static_cast<int>(__float_as_uint(*args.largest) >> 23 & 0xFFU) - args.window;
  }
  return rule;
}

// `top` are the bits of the group's largest magnitude. All in whole numbers, so that the result is
// the reference's to the last bit.
__device__ inline float rounded(float x, unsigned top, const Rule& rule, int64_t place) {
  const unsigned bits = __float_as_uint(x), own = bits >> 23 & 0xFFU;
  if (rule.bits == 0 || top >= 0x7F800000U) return x;
  if (own == 0) return __uint_as_float(bits & 0x80000000U);
  const int exponent = max(static_cast<int>(top >> 23), rule.window);  // biased
  const unsigned mantissa = (bits & 0x7FFFFFU) | 0x800000U;
  const int shift = BlockFloatArgs::kMostBits - rule.bits + exponent - static_cast<int>(own);
  unsigned count = 0;
  if (shift <= 32) {  // else it is less than 1/256 of a quantum
    unsigned u = rule.rounding == Rounding::kNearest ? 128U : 0U;
    if (rule.rounding == Rounding::kStochastic) {
      const auto at = static_cast<uint64_t>(place);
      u = static_cast<unsigned>(random_bytes(rule.seed, rule.tag, at / 8) >> (8 * (at % 8))) &
          0xFFU;
    }
    const uint64_t sum =
        (static_cast<uint64_t>(mantissa) << 8) + (static_cast<uint64_t>(u) << shift);
    count = static_cast<unsigned>(sum >> (shift + 8));
  }
  count = min(count, (1U << rule.bits) - 1U);
  // quantum = 2^(exponent - 127 - (bits - 1)), in two factors as it may be below the normal numbers
  const int power = exponent - 127 - (rule.bits - 1);
  const int low = power < -126 ? power + 64 : power;
  const float first = __uint_as_float(static_cast<unsigned>(low + 127) << 23);
  const float second = power < -126 ? 5.42101086e-20F : 1.0F;  // 2^-64
  return copysignf(static_cast<float>(count) * first * second, x);
}

__device__ inline unsigned magnitude(float x) {
  return __float_as_uint(x) & 0x7FFFFFFFU;
}

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads) along_rows(const BlockFloatArgs args, int64_t groups) {
  const Rule rule = rule_of(args);
  const auto* in = static_cast<const In*>(args.in);
  auto* out = static_cast<Out*>(args.out);
  const int64_t in_row = (args.length + kGroup - 1) / kGroup;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * (kThreads / kLanes);
  // Whole warps go round together: the shuffles below need all of them.
  const int64_t rounds = (groups + stride - 1) / stride;
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t group = round * stride + static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) +
                          threadIdx.x / kLanes;
    const int64_t in_group = group % in_row * kGroup + lane * kShare;  // place in its row
    const int64_t first = group / in_row * args.length + in_group;
    const int64_t room = group < groups ? args.length - in_group : 0;
    float x[kShare] = {};
    unsigned top = 0;
#pragma unroll
    for (int j = 0; j < kShare; ++j) {
      if (j < room) x[j] = value_of(in[first + j]);
      top = max(top, magnitude(x[j]));
    }
    for (int lanes = 1; lanes < kLanes; lanes *= 2) {
      top = max(top, __shfl_xor_sync(0xFFFFFFFFU, top, lanes));
    }
#pragma unroll
    for (int j = 0; j < kShare; ++j) {
      if (j < room) store(out + first + j, rounded(x[j], top, rule, first + j));
    }
  }
}

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads) across_rows(const BlockFloatArgs args, int64_t groups) {
  const Rule rule = rule_of(args);
  const auto* in = static_cast<const In*>(args.in);
  auto* out = static_cast<Out*>(args.out);
  const int64_t in_length = (args.length + kGroup - 1) / kGroup;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < groups;
       at += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t i = at % args.inner, block = at / args.inner;
    const int64_t begin = block % in_length * kGroup;
    const int64_t first = (block / in_length * args.length + begin) * args.inner + i;
    const int64_t room = args.length - begin;
    float x[kGroup] = {};
    unsigned top = 0;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      if (j < room) x[j] = value_of(in[first + j * args.inner]);
      top = max(top, magnitude(x[j]));
    }
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      const int64_t place = first + j * args.inner;
      if (j < room) store(out + place, rounded(x[j], top, rule, place));
    }
  }
}

template <typename In, typename Out>
void launch(const BlockFloatArgs& args, cudaStream_t stream) {
  const int64_t groups = args.outer * ((args.length + kGroup - 1) / kGroup) * args.inner;
  const bool rows = args.inner == 1;
  const int64_t threads = groups * (rows ? kLanes : 1);
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>((threads + kThreads - 1) / kThreads, kMostBlocks));
  if (rows) {
    along_rows<In, Out><<<blocks, kThreads, 0, stream>>>(args, groups);
  } else {
    across_rows<In, Out><<<blocks, kThreads, 0, stream>>>(args, groups);
  }
  check_launch("block_float");
}

}  // namespace

void block_float(const BlockFloatArgs& args, Stream stream_) {
  const auto stream = static_cast<cudaStream_t>(stream_);
  if (args.outer * args.length * args.inner == 0) return;
  using Low = __nv_bfloat16;
  if (args.in_type == Type::kFloat) {
    args.out_type == Type::kFloat ? launch<float, float>(args, stream)
                                  : launch<float, Low>(args, stream);
  } else {
    args.out_type == Type::kFloat ? launch<Low, float>(args, stream)
                                  : launch<Low, Low>(args, stream);
  }
}

}  // namespace adagp::cuda
