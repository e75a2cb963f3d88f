// The threshold is found digit by digit, from the highest: distances are not negative, so that
// their bits are ordered as they are. Three histograms of 11, 11 and 9 bits, each of the distances
// that begin with the digits found so far, each made in shared memory first.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/optim/dropback.h"
#include "adagp/gpu/cuda/optim/param_pack.cuh"

namespace adagp::cuda {
namespace {

using namespace slots;

constexpr int kBins = 2048;
constexpr unsigned kMostBlocks = 528;  // four on each of the processors of an H200
constexpr unsigned kInfinity = 0x7F800000U;

// What is known of the threshold, between the launches.
struct Search {
  unsigned done;              // blocks
  unsigned prefix;            // its higher bits
  unsigned long long place;   // of it among those that begin with them, from 0
  unsigned histogram[kBins];  // zero between the launches
};

struct Digit {
  int shift, bits;
  bool first, last;  // of the digits
  bool ends;         // the last launch of this digit
  unsigned long long keep;
};

// Written so that no product and sum are contracted: the host's reference has two roundings.
__device__ inline float fallback_of(float first, float scale) {
  return __fmul_rn(scale, first);
}
__device__ inline unsigned distance_bits(float weight, float fallback) {
  const unsigned bits = __float_as_uint(__fsub_rn(weight, fallback)) & 0x7FFFFFFFU;
  if (bits > kInfinity) return kInfinity;  // a NaN is the largest
  return bits < 0x00800000U ? 0 : bits;
}

// The bin in which the place falls, from the highest; by all threads of one block.
__device__ void choose(Search* search, const Digit& digit, float* threshold) {
  constexpr int kEach = kBins / kThreads;
  __shared__ unsigned long long sums[kThreads];
  unsigned own[kEach];
  unsigned long long sum = 0;
  const int highest = kBins - 1 - static_cast<int>(threadIdx.x) * kEach;  // of this thread's bins
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    own[i] = __ldcg(search->histogram + highest - i);
    search->histogram[highest - i] = 0;
    sum += own[i];
  }
  sums[threadIdx.x] = sum;
  const unsigned long long place = digit.first ? digit.keep : search->place;
  const unsigned prefix = digit.first ? 0 : search->prefix;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long total = 0;
    for (int t = 0; t < kThreads; ++t) {
      const unsigned long long here = sums[t];
      sums[t] = total;
      total += here;
    }
    if (place >= total) *threshold = -1.0F;  // fewer weights than may stay
    if (place >= total) search->place = ~0ULL;
  }
  __syncthreads();
  unsigned long long before = sums[threadIdx.x];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (place >= before && place < before + own[i]) {
      const unsigned found = prefix << digit.bits | static_cast<unsigned>(highest - i);
      search->place = place - before;
      search->prefix = found;
      if (digit.last) *threshold = __uint_as_float(found);
    }
    before += own[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    digit_kernel(const __grid_constant__ Pack pack, unsigned chunks, const float* scale_at,
                 Search* search, const Digit digit, float* threshold) {
  __shared__ unsigned histogram[kBins];
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kThreads) histogram[i] = 0;
  __syncthreads();
  const float scale = *scale_at;
  const unsigned prefix = digit.first ? 0 : search->prefix;
  const unsigned mask = (1U << digit.bits) - 1;
  for (unsigned c = blockIdx.x; c < chunks; c += gridDim.x) {
    const Chunk chunk = chunk_at(pack, c);
    const Packed slot = pack.slot[chunk.slot];
    walk(chunk, slot.vectors, [&](int64_t i, auto width) {
      constexpr int kWidth = decltype(width)::value;
      float weight[kWidth], first[kWidth];
      load(slot.weight + i, width, weight);
      load(slot.first + i, width, first);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        const unsigned bits = distance_bits(weight[k], fallback_of(first[k], scale));
        // 31 bits: those above the digit are the ones found so far.
        if (digit.first || bits >> (digit.shift + digit.bits) == prefix) {
          atomicAdd(histogram + (bits >> digit.shift & mask), 1U);
        }
      }
    });
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kThreads) {
    if (histogram[i] != 0) atomicAdd(search->histogram + i, histogram[i]);
  }
  if (!last_block(&search->done) || !digit.ends) return;
  choose(search, digit, threshold);
}

__global__ void __launch_bounds__(kThreads)
    apply_kernel(const __grid_constant__ Pack pack, const float* scale_at, const float* threshold,
                 const float* least, int64_t* kept) {
  const Chunk chunk = chunk_at(pack, blockIdx.x);
  const Packed slot = pack.slot[chunk.slot];
  const float scale = *scale_at;
  const float limit = least == nullptr ? *threshold : fmaxf(*threshold, *least);
  unsigned stayed = 0;
  walk(chunk, slot.vectors, [&](int64_t i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float weight[kWidth], first[kWidth];
    load(slot.weight + i, width, weight);
    load(slot.first + i, width, first);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const float fallback = fallback_of(first[k], scale);
      const float difference = fabsf(__fsub_rn(weight[k], fallback));
      const float distance = difference < 1.17549435e-38F ? 0.0F : difference;
      if (distance <= limit) {
        weight[k] = fallback;
      } else {
        ++stayed;
      }
    }
    store(slot.weight + i, width, weight);
    if (slot.low != nullptr) store(static_cast<Low*>(slot.low) + i, width, weight);
  });
  if (kept == nullptr) return;
  const unsigned total = block_sum<kThreads>(stayed);
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(kept), static_cast<unsigned long long>(total));
  }
}

std::vector<Pack> all_packs(const DropArgs& args) {
  return packs_of(args.slots, args.count, [](const ParamSlot& slot) { return slot.count > 0; });
}

}  // namespace

int64_t drop_workspace() {
  return static_cast<int64_t>(sizeof(Search));
}

void drop_threshold(const DropArgs& args, Stream stream) {
  auto packs = all_packs(args);
  if (packs.empty()) packs.emplace_back();
  auto* search = static_cast<Search*>(args.workspace);
  constexpr int kShifts[] = {20, 9, 0}, kBits[] = {11, 11, 9};
  for (int d = 0; d < 3; ++d) {
    for (const Pack& pack : packs) {
      const unsigned chunks = pack.chunks();
      const Digit digit{kShifts[d],
                        kBits[d],
                        d == 0,
                        d == 2,
                        &pack == &packs.back(),
                        static_cast<unsigned long long>(args.keep)};
      const unsigned blocks = std::clamp<unsigned>(chunks, 1, kMostBlocks);
      digit_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
          pack, chunks, args.scale, search, digit, args.threshold);
      check_launch("drop_threshold");
    }
  }
}

void drop_apply(const DropArgs& args, Stream stream) {
  for (const Pack& pack : all_packs(args)) {
    if (pack.chunks() == 0) continue;
    apply_kernel<<<pack.chunks(), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        pack, args.scale, args.threshold, args.least, args.kept);
    check_launch("drop_apply");
  }
}

}  // namespace adagp::cuda
