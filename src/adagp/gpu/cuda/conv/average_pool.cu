// A thread has eight channels of one column and goes down some rows of it: it adds up three
// neighbours of each row, and keeps the sums of three rows.

#include <cuda_runtime.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/conv/average_pool.h"
#include "adagp/gpu/cuda/conv/eight_channels.h"

namespace adagp::cuda {
namespace {

using eight::Bf16;
using eight::Eight;
using eight::kLanes;

constexpr int kThreads = 256, kRows = 8;  // kRows: of a thread

struct Launch {
  AveragePoolArgs args;
  plan::Divider vectors, columns, strips;  // of a map: channels / 8, width, height / kRows
  uint32_t threads;
};

// Positions of a side of n within one step of `at`.
__device__ int near(int at, int n) {
  return 1 + (at > 0 ? 1 : 0) + (at + 1 < n ? 1 : 0);
}

template <typename T>
struct Column {
  const Launch& p;
  const T* in;  // of the image, at this thread's channels
  int x, height, width, channels;

  // Positions that the mean at this place is divided by.
  __device__ float window(int row, int at) const {
    return p.args.count_padding ? 9.0F : static_cast<float>(near(row, height) * near(at, width));
  }
  // The sum of three neighbours of a row, weighed as the gradient needs it.
  __device__ void row_sum(int row, float (&sum)[kLanes]) const {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) sum[k] = 0;
    if (row < 0 || row >= height) return;
#pragma unroll
    for (int d = -1; d <= 1; ++d) {
      const int at = x + d;
      if (at < 0 || at >= width) continue;
      const Eight<T> value = eight::load(in + (static_cast<int64_t>(row) * width + at) * channels);
      const float weight = p.args.gradient ? 1.0F / window(row, at) : 1.0F;
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        sum[k] = fmaf(eight::element(value, k), weight, sum[k]);
      }
    }
  }
  __device__ float divisor(int row) const {
    return p.args.gradient ? 1.0F : window(row, x);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) pool_kernel(const __grid_constant__ Launch p) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= p.threads) return;
  const uint32_t position = plan::quotient(at, p.vectors);
  const uint32_t line = plan::quotient(position, p.columns);
  const uint32_t image = plan::quotient(line, p.strips);
  const Map& map = p.args.map;
  const int height = static_cast<int>(map.height), width = static_cast<int>(map.width);
  const int channels = static_cast<int>(map.channels);
  const int channel = static_cast<int>(at - position * p.vectors.divisor) * kLanes;
  const int x = static_cast<int>(position - line * p.columns.divisor);
  const int first = static_cast<int>(line - image * p.strips.divisor) * kRows;
  const int64_t start = static_cast<int64_t>(image) * height * width * channels + channel;
  const Column<T> column{p, static_cast<const T*>(p.args.in) + start, x, height, width, channels};
  T* out = static_cast<T*>(p.args.out) + start;

  float above[kLanes], here[kLanes], below[kLanes];
  column.row_sum(first - 1, above);
  column.row_sum(first, here);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int row = first + i;
    if (row >= height) break;
    column.row_sum(row + 1, below);
    const float by = column.divisor(row);
    float value[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      value[k] = (above[k] + here[k] + below[k]) / by;
      above[k] = here[k];
      here[k] = below[k];
    }
    Eight<T> packed;
    eight::pack(value, packed);
    eight::store(out + (static_cast<int64_t>(row) * width + x) * channels, packed);
  }
}

}  // namespace

void average_pool(const AveragePoolArgs& args, Stream stream) {
  const Map& map = args.map;
  if (map.count() == 0) return;
  const int64_t strips = (map.height + kRows - 1) / kRows;
  const int64_t threads = map.batch * strips * map.width * (map.channels / kLanes);
  if (!average_pool_fits(map)) throw Error("average_pool: channels must be a multiple of eight");
  if (threads > int64_t{1} << 30) throw Error("average_pool: the map is too large for one launch");
  const Launch launch{args, plan::divider(map.channels / kLanes), plan::divider(map.width),
                      plan::divider(strips), static_cast<uint32_t>(threads)};
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  auto* const on = static_cast<cudaStream_t>(stream);
  if (args.type == Type::kFloat) {
    pool_kernel<float><<<blocks, kThreads, 0, on>>>(launch);
  } else {
    pool_kernel<Bf16><<<blocks, kThreads, 0, on>>>(launch);
  }
  check_launch("average_pool");
}

}  // namespace adagp::cuda
