// Normalise, add, ReLU, pool: one read, one write.

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/norm/elementwise.cuh"
#include "adagp/gpu/cuda/norm/norm.h"

namespace adagp::cuda {
using namespace norm;
namespace {

struct Launch {
  ApplyArgs args;
  Walk walk;
  plan::Divider pooled_width;
  uint32_t pitch, y_pitch;  // of x and of y
};

// NaN stays NaN, so that a diverged run is seen. (Options by value: from a reference to the
// arguments the compiler makes a branch for each element.)
__device__ float clipped(float value, bool relu, float cap) {
  if (!relu) return value;
  return value < 0 ? 0.0F : value > cap ? cap : value;
}

// 64 bytes on their way to each thread.
template <typename T, bool kResidual>
constexpr int kLoads = (kResidual ? 4 : 8) / sizeof(T);

template <typename T, bool kAligned, bool kResidual>
__global__ void __launch_bounds__(kThreads) apply_kernel(const __grid_constant__ Launch p) {
  constexpr int kAtOnce = kLoads<T, kResidual>;
  const Lane lane = lane_of(p.walk.tiling, static_cast<int>(blockIdx.y));
  if (lane.valid == 0) return;
  float scale[kLanes], shift[kLanes];
  load_params<kAligned>(p.args.scale, lane.channel, lane.valid, scale);
  load_params<kAligned>(p.args.shift, lane.channel, lane.valid, shift);
  const T* x = static_cast<const T*>(p.args.x) + lane.channel;
  const T* residual = static_cast<const T*>(p.args.residual) + lane.channel;
  T* y = static_cast<T*>(p.args.y) + lane.channel;

  walk<kAtOnce>(p.walk, lane, [&](const auto& place) {
    Raw<T> in[kAtOnce];
    [[maybe_unused]] Raw<T> added[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      [[maybe_unused]] const uint64_t offset = offset_of(place[i], p.walk.tiling);
      in[i] = load<kAligned>(x + offset_of(place[i], p.pitch), lane.valid);
      if constexpr (kResidual) added[i] = load<kAligned>(residual + offset, lane.valid);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      float value[kLanes];
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        value[k] = fmaf(scale[k], element(in[i], k), shift[k]);
        if constexpr (kResidual) value[k] += element(added[i], k);
        value[k] = clipped(value[k], p.args.relu, p.args.cap);
      }
      Raw<T> out;
      pack(value, out);
      if (place.valid(i)) store<kAligned>(y + offset_of(place[i], p.y_pitch), out, lane.valid);
    }
  });
}

template <typename T, bool kAligned>
__global__ void __launch_bounds__(kThreads) pool_kernel(const __grid_constant__ Launch p) {
  const Lane lane = lane_of(p.walk.tiling, static_cast<int>(blockIdx.y));
  if (lane.valid == 0) return;
  float scale[kLanes], shift[kLanes];
  load_params<kAligned>(p.args.scale, lane.channel, lane.valid, scale);
  load_params<kAligned>(p.args.shift, lane.channel, lane.valid, shift);
  const T* x = static_cast<const T*>(p.args.x) + lane.channel;
  T* y = static_cast<T*>(p.args.y) + lane.channel;

  walk<1>(p.walk, lane, [&](const auto& place) {
    const Quad quad = quad_of(place[0], p.pooled_width);
    Raw<T> in[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      in[i] = load<kAligned>(x + offset_of(quad.position[i], p.walk.tiling), lane.valid);
    }
    float most[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      // Rounding keeps the order, so the largest may be rounded instead of all four.
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float value =
            clipped(fmaf(scale[k], element(in[i], k), shift[k]), p.args.relu, p.args.cap);
        if (i == 0 || value > most[k] || value != value) most[k] = value;
      }
    }
    Raw<T> out;
    pack(most, out);
    store<kAligned>(y + offset_of(place[0], p.walk.tiling), out, lane.valid);
  });
}

__global__ void eval_kernel(EvalScaleArgs a) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= a.channels) return;
  const float scale = a.weight[c] / sqrtf(a.running_var[c] + a.eps);
  const float centre = a.running_mean[c] - (a.conv_bias ? a.conv_bias[c] : 0.0F);
  a.scale[c] = scale;
  a.shift[c] = fmaf(-centre, scale, a.bias ? a.bias[c] : 0.0F);
}

}  // namespace

void norm_apply(const ApplyArgs& args, Stream stream) {
  const Map& map = args.map;
  if (map.count() == 0) return;
  plan::check_map(map, "norm_apply");
  plan::check_pitch(args.pitch, map, "norm_apply");
  plan::check_pitch(args.y_pitch, map, "norm_apply");
  Launch launch{args,
                walk_over(map, args.pool),
                {},
                pitch_or_channels(args.pitch, map),
                pitch_or_channels(args.y_pitch, map)};
  const bool dense = launch.pitch == map.channels && launch.y_pitch == map.channels;
  if (args.pool &&
      (map.height % 2 != 0 || map.width % 2 != 0 || args.residual || args.y == args.x || !dense)) {
    throw Error(
        "norm_apply: pooling needs even sides, dense maps, no residual and an output of its own");
  }
  if (!dense && args.y == args.x) throw Error("norm_apply: in place, but the maps are not dense");
  if (args.pool) launch.pooled_width = plan::divider(map.width / 2);
  const bool vectors =
      aligned(map.channels, {args.x, args.residual, args.y, args.scale, args.shift}) &&
      launch.pitch % kLanes == 0 && launch.y_pitch % kLanes == 0;
  auto* const on = static_cast<cudaStream_t>(stream);
  dispatch(args.type, vectors, [&]<typename T, bool kAligned>() {
    if (args.pool) {
      pool_kernel<T, kAligned><<<grid_of(launch.walk, 1), kThreads, 0, on>>>(launch);
    } else if (args.residual != nullptr) {
      const dim3 grid = grid_of(launch.walk, kLoads<T, true>);
      apply_kernel<T, kAligned, true><<<grid, kThreads, 0, on>>>(launch);
    } else {
      const dim3 grid = grid_of(launch.walk, kLoads<T, false>);
      apply_kernel<T, kAligned, false><<<grid, kThreads, 0, on>>>(launch);
    }
  });
  check_launch("norm_apply");
}

void eval_scale(const EvalScaleArgs& args, Stream stream) {
  if (args.channels == 0) return;
  const auto blocks = static_cast<unsigned>((args.channels + kThreads - 1) / kThreads);
  eval_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(args);
  check_launch("eval_scale");
}

}  // namespace adagp::cuda
