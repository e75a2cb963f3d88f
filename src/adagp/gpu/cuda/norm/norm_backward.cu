// The first pass of the gradient of normalise + add + ReLU + pool: the sums over positions.

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/norm/norm_backward.cuh"

namespace adagp::cuda {
namespace norm {
namespace {

// Adds dz to sum[k] and dz * (x - mean) to sum[kLanes + k], of kAtOnce positions from q on; writes
// dz when asked. kFull: all of them are before `end`.
template <Mask kMask, int kAtOnce, bool kFull, bool kAligned, typename T>
__device__ void add_batch(const BackwardLaunch& p, const Lane& lane, const Params& params,
                          const float (&mean)[kLanes], uint32_t q, uint32_t end,
                          float (&sum)[kSums]) {
  const plan::Tiling& tiling = p.sharing.units.tiling;
  const auto step = static_cast<uint32_t>(tiling.rows);
  Raw<T> x[kAtOnce], dy[kAtOnce], y[kAtOnce];
  uint64_t offset[kAtOnce];
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const uint32_t at = kFull ? q + i * step : min(q + i * step, end - 1);
    offset[i] = offset_of(at, tiling) + lane.channel;
    x[i] = load<kAligned>(static_cast<const T*>(p.args.x) + offset_of(at, p.pitch) + lane.channel,
                          lane.valid);
    dy[i] = load<kAligned>(
        static_cast<const T*>(p.args.dy) + offset_of(at, p.dy_pitch) + lane.channel, lane.valid);
    if constexpr (kMask == Mask::kOutput) {
      y[i] = load<kAligned>(static_cast<const T*>(p.args.y) + offset[i], lane.valid);
    }
  }
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const bool counts = kFull || q + i * step < end;
    float dz[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      dz[k] = counts && passed<kMask>(params, p.args.cap, x[i], y[i], k) ? element(dy[i], k) : 0.0F;
      sum[k] += dz[k];
      sum[kLanes + k] = fmaf(dz[k], element(x[i], k) - mean[k], sum[kLanes + k]);
    }
    if (counts && p.args.dz != nullptr) {
      Raw<T> out;
      pack(dz, out);
      store<kAligned>(static_cast<T*>(p.args.dz) + offset[i], out, lane.valid);
    }
  }
}

// The same for one position of a pooled dy.
template <bool kAligned, typename T>
__device__ void add_pooled(const BackwardLaunch& p, const Lane& lane, const Params& params,
                           const float (&mean)[kLanes], uint32_t q, float (&sum)[kSums]) {
  const plan::Tiling& tiling = p.sharing.units.tiling;
  Raw<T> x[4];
  load_quad<kAligned>(static_cast<const T*>(p.args.x) + lane.channel, quad_of(q, p.pooled_width),
                      tiling, lane.valid, x);
  const Raw<T> dy = load<kAligned>(
      static_cast<const T*>(p.args.dy) + offset_of(q, tiling) + lane.channel, lane.valid);
#pragma unroll
  for (int k = 0; k < kLanes; ++k) {
    const int at = winner(p.args, params, x, k);
    float of = element(x[0], k);
#pragma unroll
    for (int i = 1; i < 4; ++i) of = at == i ? element(x[i], k) : of;
    const float dz = at < 0 ? 0.0F : element(dy, k);
    sum[k] += dz;
    sum[kLanes + k] = fmaf(dz, of - mean[k], sum[kLanes + k]);
  }
}

template <typename T, bool kAligned, Mask kMask, bool kPool>
__device__ void add_positions(const BackwardLaunch& p, const Lane& lane, float (&sum)[kSums]) {
  constexpr int kAtOnce = kPool ? 1 : 4 / sizeof(T);
  const Params params = params_of<kAligned>(p.args, lane);
  float mean[kLanes];
  load_params<kAligned>(p.args.mean, lane.channel, lane.valid, mean);
  const Range range = flat_range(p.positions, p.sharing.units);
  const auto step = static_cast<uint32_t>(p.sharing.units.tiling.rows);
  uint32_t q = range.begin + lane.row;
  if constexpr (kPool) {
    for (; q < range.end; q += step) add_pooled<kAligned, T>(p, lane, params, mean, q, sum);
  } else {
    for (; q + (kAtOnce - 1) * step < range.end; q += kAtOnce * step) {
      add_batch<kMask, kAtOnce, true, kAligned, T>(p, lane, params, mean, q, range.end, sum);
    }
    if (kAtOnce > 1 && q < range.end) {
      add_batch<kMask, kAtOnce, false, kAligned, T>(p, lane, params, mean, q, range.end, sum);
    }
  }
}

// Blocks on a multiprocessor, as registers allow.
template <bool kAligned, bool kPool>
constexpr int kResident = kAligned ? (kPool ? 2 : 3) : 1;

template <typename T, bool kAligned, Mask kMask, bool kPool>
__global__ void __launch_bounds__(kThreads, kResident<kAligned, kPool>)
    sums_kernel(const __grid_constant__ BackwardLaunch p) {
  __shared__ Scratch scratch;
  float sum[kSums] = {};
  const plan::Tiling& tiling = p.sharing.units.tiling;
  const Lane lane = lane_of(tiling, static_cast<int>(blockIdx.x));
  prefetch_params(tiling, {p.args.inv_std});
  if (lane.valid > 0) add_positions<T, kAligned, kMask, kPool>(p, lane, sum);
  const Reduced reduced = reduce_cells(p.sharing, sum, scratch);
  if (!reduced.last) return;

  const float total = sum_cells(p.sharing, reduced, scratch);
  const int in_tile = kLanes * tiling.width, thread = static_cast<int>(threadIdx.x);
  const int channel = static_cast<int>(blockIdx.x) * in_tile + thread % in_tile;
  if (thread >= 2 * in_tile || channel >= tiling.channels) return;
  if (thread < in_tile) {
    p.args.dbias[channel] = total;
  } else {
    p.args.dweight[channel] = total * p.args.inv_std[channel];
  }
}

}  // namespace

void run_sums(const BackwardLaunch& launch, Mask mask, bool vectors, cudaStream_t on) {
  const dim3 grid = grid_of(launch.sharing.units);
  dispatch(launch.args.type, vectors, [&]<typename T, bool kAligned>() {
    if (launch.args.pool) {
      sums_kernel<T, kAligned, Mask::kRedo, true><<<grid, kThreads, 0, on>>>(launch);
      return;
    }
    dispatch_mask(mask, [&]<Mask kMask>() {
      sums_kernel<T, kAligned, kMask, false><<<grid, kThreads, 0, on>>>(launch);
    });
  });
}

}  // namespace norm

using namespace norm;

namespace {

BackwardLaunch launch_of(const NormBackwardArgs& args) {
  const Map& map = args.map;
  BackwardLaunch out{};
  out.args = args;
  out.positions = static_cast<uint32_t>(args.pool ? map.positions() / 4 : map.positions());
  out.sharing = sharing(plan::flat_units(map.channels, out.positions), args.workspace);
  out.walk = walk_over(map, args.pool);
  if (args.pool) out.pooled_width = plan::divider(map.width / 2);
  out.per_position = 1 / static_cast<float>(map.positions());
  out.pitch = pitch_or_channels(args.pitch, map);
  out.dy_pitch = pitch_or_channels(args.dy_pitch, map);
  out.plus_pitch = pitch_or_channels(args.plus_pitch, map);
  return out;
}

}  // namespace

int64_t backward_workspace(const Map& largest) {
  return plan::workspace_bytes(largest.channels, 1);
}

void norm_backward(const NormBackwardArgs& args, Stream stream) {
  const Map& map = args.map;
  if (map.count() == 0) return;
  plan::check_map(map, "norm_backward");
  if (args.pool && (map.height % 2 != 0 || map.width % 2 != 0 || args.dz != nullptr)) {
    throw Error("norm_backward: pooling needs even sides and no residual");
  }
  plan::check_pitch(args.pitch, map, "norm_backward");
  plan::check_pitch(args.dy_pitch, map, "norm_backward");
  plan::check_pitch(args.plus_pitch, map, "norm_backward");
  if (args.plus != nullptr && (args.pool || args.dz != nullptr)) {
    throw Error("norm_backward: nothing can be added to dx with a pool or a residual");
  }
  const bool dense_dy = pitch_or_channels(args.dy_pitch, map) == map.channels;
  if (args.pool && (pitch_or_channels(args.pitch, map) != map.channels || !dense_dy)) {
    throw Error("norm_backward: pooling needs dense maps");
  }
  if (!dense_dy && (args.dx == args.dy || args.dz == args.dy)) {
    throw Error("norm_backward: in place, but dy is not dense");
  }
  if (args.dz != nullptr && args.relu && args.y == nullptr) {
    throw Error("norm_backward: with a residual, the mask of ReLU needs the output y");
  }
  const BackwardLaunch launch = launch_of(args);
  const bool vectors =
      aligned(map.channels, {args.x, args.dy, args.y, args.dz, args.dx, args.plus, args.mean,
                             args.inv_std, args.scale, args.shift, args.dweight, args.dbias}) &&
      launch.pitch % kLanes == 0 && launch.dy_pitch % kLanes == 0 &&
      launch.plus_pitch % kLanes == 0;
  auto* const on = static_cast<cudaStream_t>(stream);
  const Mask redone = args.y != nullptr ? Mask::kOutput : Mask::kRedo;
  const Mask mask = args.relu ? redone : Mask::kNone;
  run_sums(launch, mask, vectors, on);
  run_dx(launch, args.dz != nullptr ? Mask::kNone : mask, vectors, on);
  check_launch("norm_backward");
}

}  // namespace adagp::cuda
