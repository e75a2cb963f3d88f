// A thread has eight channels of one window.

#include <cuda_runtime.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/conv/eight_channels.h"
#include "adagp/gpu/cuda/conv/halving_pool.h"

namespace adagp::cuda {
namespace {

using eight::Bf16;
using eight::Eight;
using eight::kLanes;

constexpr int kThreads = 256;

struct Launch {
  HalvingPoolArgs args;
  plan::Divider vectors, columns;  // channels / 8, width / 2
  uint32_t threads;
};

// Where a thread's window begins in the larger array, and its place in the smaller one.
struct Place {
  int64_t large, small;
  int64_t right, down;  // steps to the next position of a row, and to the next row
};
__device__ Place place_of(const Launch& p, uint32_t thread) {
  const uint32_t position = plan::quotient(thread, p.vectors);
  const uint32_t line = plan::quotient(position, p.columns);  // rows of windows of all images
  const uint32_t channel = (thread - position * p.vectors.divisor) * kLanes;
  const uint32_t column = position - line * p.columns.divisor;
  const int64_t channels = p.args.map.channels, row = p.args.map.width * channels;
  return {2 * (line * row + column * channels) + channel, position * channels + channel, channels,
          row};
}

template <typename T>
__global__ void __launch_bounds__(kThreads) mean_kernel(const __grid_constant__ Launch p) {
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= p.threads) return;
  const Place at = place_of(p, thread);
  const T* in = static_cast<const T*>(p.args.in) + at.large;
  const Eight<T> window[4] = {eight::load(in), eight::load(in + at.right),
                              eight::load(in + at.down), eight::load(in + at.down + at.right)};
  float mean[kLanes];
#pragma unroll
  for (int k = 0; k < kLanes; ++k) {
    mean[k] = 0.25F * (eight::element(window[0], k) + eight::element(window[1], k) +
                       eight::element(window[2], k) + eight::element(window[3], k));
  }
  Eight<T> packed;
  eight::pack(mean, packed);
  eight::store(static_cast<T*>(p.args.out) + at.small, packed);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) gradient_kernel(const __grid_constant__ Launch p) {
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= p.threads) return;
  const Place at = place_of(p, thread);
  const Eight<T> dy = eight::load(static_cast<const T*>(p.args.in) + at.small);
  float dx[kLanes];
#pragma unroll
  for (int k = 0; k < kLanes; ++k) dx[k] = 0.25F * eight::element(dy, k);
  Eight<T> packed;
  eight::pack(dx, packed);
  T* out = static_cast<T*>(p.args.out) + at.large;
  eight::store(out, packed);
  eight::store(out + at.right, packed);
  eight::store(out + at.down, packed);
  eight::store(out + at.down + at.right, packed);
}

}  // namespace

void halving_pool(const HalvingPoolArgs& args, Stream stream) {
  const Map& map = args.map;
  if (map.count() == 0) return;
  if (!halving_pool_fits(map)) {
    throw Error("halving_pool: sides must be even, and channels a multiple of eight");
  }
  const int64_t threads = map.count() / (4 * kLanes);
  if (threads > int64_t{1} << 30) throw Error("halving_pool: the map is too large for one launch");
  const Launch launch{args, plan::divider(map.channels / kLanes), plan::divider(map.width / 2),
                      static_cast<uint32_t>(threads)};
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  auto* const on = static_cast<cudaStream_t>(stream);
  const auto run = [&]<typename T>(T) {
    auto* const kernel = args.gradient ? gradient_kernel<T> : mean_kernel<T>;
    kernel<<<blocks, kThreads, 0, on>>>(launch);
  };
  args.type == Type::kFloat ? run(float{}) : run(Bf16{});
  check_launch("halving_pool");
}

}  // namespace adagp::cuda
