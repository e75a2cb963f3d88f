// One read of the activation for the statistics of the norm and the summary, and for its copy in a
// wider map.

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/norm/norm_finish.cuh"
#include "adagp/gpu/cuda/norm/norm_summary.cuh"
#include "adagp/gpu/cuda/norm/reduce.cuh"

namespace adagp::cuda {
using namespace norm;
namespace {

// Whether sums by cell are asked for, pooled at once or later.
__host__ __device__ bool by_cells(const StatsArgs& args) {
  return args.summary != nullptr || args.cells != nullptr;
}

// Whether x is appended to a wider map: kAppend of the kernel. A template's, so that launches that
// append nothing do not pay for its registers.
bool appends(const StatsArgs& args) {
  return args.copy != nullptr || args.variance != nullptr;
}

// What is subtracted from x before squaring: something near the mean keeps the variance's digits.
// That is the running mean of the norm. Appended channels belong to several norms: the value of
// their first position is near enough, and the same whoever reads them.
__device__ float finite_or_zero(float pivot) {
  return isfinite(pivot) ? pivot : 0.0F;
}
template <typename T, bool kAppend>
__device__ float pivot_of(const StatsArgs& args, int channel) {
  if constexpr (kAppend) {
    return finite_or_zero(static_cast<float>(static_cast<const T*>(args.x)[channel]));
  } else {
    if (args.running_mean == nullptr) return 0;
    const float bias = args.conv_bias ? args.conv_bias[channel] : 0.0F;
    return finite_or_zero(args.running_mean[channel] - bias);
  }
}

template <typename T, bool kAligned, bool kAppend>
__device__ void load_pivot(const StatsArgs& args, const Lane& lane, float (&pivot)[kLanes]) {
  if constexpr (kAppend) {
    const Raw<T> first = load<kAligned>(static_cast<const T*>(args.x) + lane.channel, lane.valid);
#pragma unroll
    for (int k = 0; k < kLanes; ++k) pivot[k] = finite_or_zero(element(first, k));
  } else {
    float mean[kLanes], bias[kLanes];
    load_params<kAligned>(args.running_mean, lane.channel, lane.valid, mean);
    load_params<kAligned>(args.running_mean ? args.conv_bias : nullptr, lane.channel, lane.valid,
                          bias);
#pragma unroll
    for (int k = 0; k < kLanes; ++k) pivot[k] = finite_or_zero(mean[k] - bias[k]);
  }
}

// The cell of this block.
struct Cell {
  plan::Divider height, width;
  uint32_t corner;  // position of its first pixel in an image
};
__device__ Cell cell_of(const StatsLaunch& p, int cell) {
  const int row = cell / p.x.cells, col = cell % p.x.cells;
  const auto width = static_cast<uint32_t>(p.args.map.width);
  return {p.y.length[row], p.x.length[col], p.y.start[row] * width + p.x.start[col]};
}

// q counts (image, y, x) within the cell.
__device__ uint32_t position_of(const StatsLaunch& p, const Cell& cell, uint32_t q) {
  const uint32_t line = quotient(q, cell.width), image = quotient(line, cell.height);
  const uint32_t y = line - image * cell.height.divisor, x = q - line * cell.width.divisor;
  const auto height = static_cast<uint32_t>(p.args.map.height);
  const auto width = static_cast<uint32_t>(p.args.map.width);
  return cell.corner + (image * height + y) * width + x;
}

// Adds x - pivot to sum[k], its square to sum[kLanes + k], of `kAtOnce` positions from q on that
// are `step` apart, and writes x to `to` where it is appended. kFull: all of them are before `end`.
// The loads must not wait for one another, so there is no branch around them.
template <int kAtOnce, bool kFull, bool kAligned, bool kAppend, typename T>
__device__ void add_batch(const StatsLaunch& p, const Cell& cell, const T* from, T* to,
                          const Lane& lane, const float (&pivot)[kLanes], uint32_t q, uint32_t end,
                          float (&sum)[kSums]) {
  const auto step = static_cast<uint32_t>(p.sharing.units.tiling.rows);
  Raw<T> raw[kAtOnce];
  [[maybe_unused]] uint32_t position[kAtOnce];
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const uint32_t at = kFull ? q + i * step : min(q + i * step, end - 1);
    position[i] = position_of(p, cell, at);
    raw[i] = load<kAligned>(from + offset_of(position[i], p.pitch), lane.valid);
  }
  if constexpr (kAppend) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (!kFull && q + i * step >= end) continue;
      store<kAligned>(to + offset_of(position[i], p.copy_pitch), raw[i], lane.valid);
    }
  }
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const bool counts = kFull || q + i * step < end;
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      const float shifted = counts ? element(raw[i], k) - pivot[k] : 0.0F;
      sum[k] += shifted;
      sum[kLanes + k] = fmaf(shifted, shifted, sum[kLanes + k]);
    }
  }
}

// The sums over this thread's positions.
template <typename T, bool kAligned, bool kAppend>
__device__ void add_positions(const StatsLaunch& p, const Lane& lane, float (&sum)[kSums]) {
  constexpr int kAtOnce = 8 / sizeof(T);
  float pivot[kLanes];
  load_pivot<T, kAligned, kAppend>(p.args, lane, pivot);

  const bool cells = by_cells(p.args);
  const Cell cell = cell_of(p, cells ? static_cast<int>(blockIdx.y) : 0);
  const auto batch = static_cast<uint32_t>(p.args.map.batch);
  const uint32_t count = batch * cell.height.divisor * cell.width.divisor;
  const Range range = cells ? range_of(count, blockIdx.z, p.sharing.units.piece)
                            : flat_range(count, p.sharing.units);

  const T* from = static_cast<const T*>(p.args.x) + lane.channel;
  T* to = static_cast<T*>(p.args.copy) + lane.channel;
  const auto step = static_cast<uint32_t>(p.sharing.units.tiling.rows);
  uint32_t q = range.begin + lane.row;
  for (; q + (kAtOnce - 1) * step < range.end; q += kAtOnce * step) {
    add_batch<kAtOnce, true, kAligned, kAppend>(p, cell, from, to, lane, pivot, q, range.end, sum);
  }
  if (q < range.end) {
    add_batch<kAtOnce, false, kAligned, kAppend>(p, cell, from, to, lane, pivot, q, range.end, sum);
  }
}

// sum, squares: of x - pivot over all positions.
template <typename T, bool kAppend>
__device__ void finish_channel(const StatsLaunch& p, int channel, float sum, float squares) {
  const StatsArgs& a = p.args;
  const float pivot = pivot_of<T, kAppend>(a, channel);
  const double offset = sum * p.per_position;
  double variance = fmax(0.0, squares * p.per_position - offset * offset);
  if (isinf(p.unbiased)) variance = 0;  // one value
  const auto mean = static_cast<float>(pivot + offset);
  if constexpr (kAppend) {
    a.mean[channel] = mean;
    a.variance[channel] = static_cast<float>(variance);
  } else {
    finish_norm_channel(a, channel, mean, variance, p.unbiased);
  }
}

template <typename T, bool kAppend>
__device__ void finish_statistics(const StatsLaunch& p, const Reduced& reduced, Scratch& scratch) {
  const int in_tile = kLanes * p.sharing.units.tiling.width;
  const int thread = static_cast<int>(threadIdx.x);
  const float total = sum_cells(p.sharing, reduced, scratch);
  if (thread < 2 * in_tile) scratch.floats[thread] = total;
  __syncthreads();
  const int channel = static_cast<int>(blockIdx.x) * in_tile + thread;
  if (thread < in_tile && channel < p.sharing.units.tiling.channels) {
    finish_channel<T, kAppend>(p, channel, scratch.floats[thread],
                               scratch.floats[in_tile + thread]);
  }
  if (!kAppend && channel == 0 && p.args.batches != nullptr) *p.args.batches += 1;
}

// The sum of x + conv_bias over this block's cell, from the sum of x - pivot. Only the first half
// of the columns are sums; the others are squares.
template <typename T, bool kAppend>
__device__ void store_cell(const StatsLaunch& p, int column, float sum) {
  const int in_tile = kLanes * p.sharing.units.tiling.width;
  const int channel = static_cast<int>(blockIdx.x) * in_tile + column;
  if (column >= in_tile || channel >= p.sharing.units.tiling.channels) return;
  const Cell cell = cell_of(p, static_cast<int>(blockIdx.y));
  const float count = static_cast<float>(p.args.map.batch) *
                      static_cast<float>(cell.height.divisor * cell.width.divisor);
  const float bias = p.args.conv_bias ? p.args.conv_bias[channel] : 0.0F;
  p.args.cells[static_cast<int64_t>(blockIdx.y) * p.sharing.units.tiling.channels + channel] =
      fmaf(count, pivot_of<T, kAppend>(p.args, channel) + bias, sum);
}

template <typename T, bool kAligned, bool kAppend>
__global__ void __launch_bounds__(kThreads, kAligned ? 4 : 2)
    stats_kernel(const __grid_constant__ StatsLaunch p) {
  __shared__ Scratch scratch;
  float sum[kSums] = {};
  const Lane lane = lane_of(p.sharing.units.tiling, static_cast<int>(blockIdx.x));
  if (!kAppend && p.args.weight != nullptr) {
    prefetch_params(p.sharing.units.tiling, {p.args.weight, p.args.bias, p.args.running_var});
  }
  if (lane.valid > 0) add_positions<T, kAligned, kAppend>(p, lane, sum);
  const Reduced reduced = reduce_cells(p.sharing, sum, scratch, [&](int column, float total) {
    if (p.args.cells != nullptr) store_cell<T, kAppend>(p, column, total);
  });
  if (!reduced.last) return;
  // The summary first: it reads the pivots, which a norm moves.
  if (p.args.summary != nullptr) {
    finish_summary(p, scratch, [&](int channel) { return pivot_of<T, kAppend>(p.args, channel); });
  }
  if (kAppend || p.args.weight != nullptr) finish_statistics<T, kAppend>(p, reduced, scratch);
}

int largest_length(const plan::Axis& axis) {
  uint32_t largest = 0;
  for (int i = 0; i < axis.cells; ++i) largest = std::max(largest, axis.length[i].divisor);
  return static_cast<int>(largest);
}

StatsLaunch launch_of(const StatsArgs& args) {
  const Map& map = args.map;
  StatsLaunch out{args, {}, {}, {}, 0, 0, 0, pitch_or_channels(args.pitch, map), 0};
  out.copy_pitch = pitch_or_channels(args.copy_pitch, map);
  plan::Units units;
  if (!by_cells(args)) {
    out.y = plan::whole(map.height), out.x = plan::whole(map.width);
    units = plan::flat_units(map.channels, map.positions());
  } else {
    out.y = plan::windows(map.height, args.size), out.x = plan::windows(map.width, args.size);
    const int64_t largest = map.batch * largest_length(out.y) * largest_length(out.x);
    units = plan::cell_units(map.channels, out.y.cells * out.x.cells, largest);
  }
  out.sharing = sharing(units, args.workspace);
  const auto n = static_cast<double>(map.positions());
  out.per_position = 1 / n;
  out.unbiased = n / (n - 1);
  while ((2 << out.pass) * (units.cells | 1) <= Scratch::kFloats &&
         (1 << out.pass) < kLanes * plan::kSumWidth) {
    ++out.pass;
  }
  return out;
}

}  // namespace

int64_t summary_cells(const Map& map, int size) {
  return static_cast<int64_t>(plan::windows(map.height, size).cells) *
         plan::windows(map.width, size).cells;
}

int64_t stats_workspace(const Map& largest, int size) {
  const int64_t cuts = 2 * static_cast<int64_t>(size) - 1;
  return plan::workspace_bytes(largest.channels,
                               std::min(largest.height * largest.width, cuts * cuts));
}

void norm_stats(const StatsArgs& args, Stream stream) {
  const bool append = appends(args);
  if (args.map.count() == 0 || (args.weight == nullptr && !by_cells(args) && !append)) return;
  plan::check_map(args.map, "norm_stats");
  plan::check_pitch(args.pitch, args.map, "norm_stats");
  plan::check_pitch(args.copy_pitch, args.map, "norm_stats");
  if (by_cells(args) && (args.size < 1 || args.size > plan::kLargestSize)) {
    throw Error(core::cat("norm_stats: summary of ", args.size, "x", args.size,
                          ", its side must be from 1 to ", plan::kLargestSize));
  }
  if (append && (args.copy == nullptr || args.variance == nullptr || args.mean == nullptr ||
                 args.weight != nullptr)) {
    throw Error("norm_stats: a copy goes with mean and variance, and without a norm");
  }
  const StatsLaunch launch = launch_of(args);
  const bool vectors =
      aligned(args.map.channels, {args.x, args.running_mean, args.conv_bias, args.copy}) &&
      launch.pitch % kLanes == 0 && launch.copy_pitch % kLanes == 0;
  dispatch(args.type, vectors, [&]<typename T, bool kAligned>() {
    const auto kernel = append ? stats_kernel<T, kAligned, true> : stats_kernel<T, kAligned, false>;
    kernel<<<grid_of(launch.sharing.units), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        launch);
  });
  check_launch("norm_stats");
}

}  // namespace adagp::cuda
