// The second pass of the gradient: dx.

#include "adagp/gpu/cuda/norm/norm_backward.cuh"

namespace adagp::cuda::norm {
namespace {

// dx = scale * (dz - mean(dz) - xhat * mean(dz * xhat)) = scale * dz + slope * x + offset.
struct Line {
  float slope[kLanes], offset[kLanes];
};
template <bool kAligned>
__device__ Line line_of(const BackwardLaunch& p, const Lane& lane, const Params& params) {
  float mean[kLanes], inv_std[kLanes], dweight[kLanes], dbias[kLanes];
  load_params<kAligned>(p.args.mean, lane.channel, lane.valid, mean);
  load_params<kAligned>(p.args.inv_std, lane.channel, lane.valid, inv_std);
  load_params<kAligned>(p.args.dweight, lane.channel, lane.valid, dweight);
  load_params<kAligned>(p.args.dbias, lane.channel, lane.valid, dbias);
  Line out;
#pragma unroll
  for (int k = 0; k < kLanes; ++k) {
    const float scaled = -params.scale[k] * p.per_position;
    out.slope[k] = scaled * inv_std[k] * dweight[k];
    out.offset[k] = fmaf(scaled, dbias[k], -out.slope[k] * mean[k]);
  }
  return out;
}

// 64 bytes on their way to each thread.
template <typename T>
constexpr int kAtOnce = 4 / sizeof(T);

template <typename T, bool kAligned, Mask kMask, bool kPlus>
__global__ void __launch_bounds__(kThreads, kAligned ? 3 : 1)
    dx_kernel(const __grid_constant__ BackwardLaunch p) {
  const Lane lane = lane_of(p.walk.tiling, static_cast<int>(blockIdx.y));
  if (lane.valid == 0) return;
  const Params params = params_of<kAligned>(p.args, lane);
  const Line line = line_of<kAligned>(p, lane, params);
  const bool kept = p.args.dz != nullptr;  // dz is dense
  const T* from = static_cast<const T*>(kept ? p.args.dz : p.args.dy) + lane.channel;
  const uint32_t from_pitch = kept ? static_cast<uint32_t>(p.walk.tiling.channels) : p.dy_pitch;

  walk<kAtOnce<T>>(p.walk, lane, [&](const auto& place) {
    Raw<T> x[kAtOnce<T>], dz[kAtOnce<T>], y[kAtOnce<T>];
    [[maybe_unused]] Raw<T> plus[kAtOnce<T>];
#pragma unroll
    for (int i = 0; i < kAtOnce<T>; ++i) {
      [[maybe_unused]] const uint64_t offset = offset_of(place[i], p.walk.tiling) + lane.channel;
      x[i] = load<kAligned>(
          static_cast<const T*>(p.args.x) + offset_of(place[i], p.pitch) + lane.channel,
          lane.valid);
      dz[i] = load<kAligned>(from + offset_of(place[i], from_pitch), lane.valid);
      if constexpr (kPlus) {
        const T* other = static_cast<const T*>(p.args.plus) + lane.channel;
        plus[i] = load<kAligned>(other + offset_of(place[i], p.plus_pitch), lane.valid);
      }
      if constexpr (kMask == Mask::kOutput) {
        y[i] = load<kAligned>(static_cast<const T*>(p.args.y) + offset, lane.valid);
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce<T>; ++i) {
      float value[kLanes];
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        const float masked =
            passed<kMask>(params, p.args.cap, x[i], y[i], k) ? element(dz[i], k) : 0.0F;
        const float rest = fmaf(line.slope[k], element(x[i], k), line.offset[k]);
        value[k] = fmaf(params.scale[k], masked, rest);
        if constexpr (kPlus) value[k] += element(plus[i], k);
      }
      Raw<T> out;
      pack(value, out);
      const uint64_t offset = offset_of(place[i], p.walk.tiling) + lane.channel;
      if (place.valid(i)) store<kAligned>(static_cast<T*>(p.args.dx) + offset, out, lane.valid);
    }
  });
}

template <typename T, bool kAligned>
__global__ void __launch_bounds__(kThreads, kAligned ? 2 : 1)
    pooled_dx_kernel(const __grid_constant__ BackwardLaunch p) {
  const Lane lane = lane_of(p.walk.tiling, static_cast<int>(blockIdx.y));
  if (lane.valid == 0) return;
  const Params params = params_of<kAligned>(p.args, lane);
  const Line line = line_of<kAligned>(p, lane, params);
  const T* from = static_cast<const T*>(p.args.x) + lane.channel;
  T* to = static_cast<T*>(p.args.dx) + lane.channel;

  walk<1>(p.walk, lane, [&](const auto& place) {
    const Quad quad = quad_of(place[0], p.pooled_width);
    Raw<T> x[4];
    load_quad<kAligned>(from, quad, p.walk.tiling, lane.valid, x);
    const T* dy_at = static_cast<const T*>(p.args.dy) + offset_of(place[0], p.walk.tiling);
    const Raw<T> dy = load<kAligned>(dy_at + lane.channel, lane.valid);
    int won[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) won[k] = winner(p.args, params, x, k);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float value[kLanes];
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        const float dz = won[k] == i ? element(dy, k) : 0.0F;
        const float rest = fmaf(line.slope[k], element(x[i], k), line.offset[k]);
        value[k] = fmaf(params.scale[k], dz, rest);
      }
      Raw<T> out;
      pack(value, out);
      store<kAligned>(to + offset_of(quad.position[i], p.walk.tiling), out, lane.valid);
    }
  });
}

}  // namespace

void run_dx(const BackwardLaunch& launch, Mask mask, bool vectors, cudaStream_t on) {
  dispatch(launch.args.type, vectors, [&]<typename T, bool kAligned>() {
    if (launch.args.pool) {
      pooled_dx_kernel<T, kAligned><<<grid_of(launch.walk, 1), kThreads, 0, on>>>(launch);
      return;
    }
    dispatch_mask(mask, [&]<Mask kMask>() {
      const dim3 grid = grid_of(launch.walk, kAtOnce<T>);
      if (launch.args.plus != nullptr) {
        dx_kernel<T, kAligned, kMask, true><<<grid, kThreads, 0, on>>>(launch);
      } else {
        dx_kernel<T, kAligned, kMask, false><<<grid, kThreads, 0, on>>>(launch);
      }
    });
  });
}

}  // namespace adagp::cuda::norm
