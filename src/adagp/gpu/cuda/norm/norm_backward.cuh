#pragma once
// What the two passes of norm_backward share.

#include "adagp/gpu/cuda/norm/elementwise.cuh"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/norm/reduce.cuh"

namespace adagp::cuda::norm {

// Where ReLU's mask comes from.
enum class Mask { kNone, kOutput, kRedo };

struct BackwardLaunch {
  NormBackwardArgs args;
  Sharing sharing;  // of the sums
  Walk walk;        // over dx
  plan::Divider pooled_width;
  uint32_t positions;  // of dy
  float per_position;  // 1 / positions of x
  uint32_t pitch, dy_pitch, plus_pitch;
};

struct Params {
  float scale[kLanes], shift[kLanes];
};
template <bool kAligned>
__device__ Params params_of(const NormBackwardArgs& args, const Lane& lane) {
  Params out;
  load_params<kAligned>(args.scale, lane.channel, lane.valid, out.scale);
  load_params<kAligned>(args.shift, lane.channel, lane.valid, out.shift);
  return out;
}

// Whether ReLU lets the value's gradient through; no cap is NaN, and nothing is above that.
__device__ inline bool between(float value, float cap) {
  return value > 0 && !(value >= cap);
}

// Whether ReLU let channel k through.
template <Mask kMask, typename T>
__device__ bool passed(const Params& params, float cap, const Raw<T>& x, const Raw<T>& y, int k) {
  if constexpr (kMask == Mask::kNone) return true;
  if constexpr (kMask == Mask::kOutput) return between(element(y, k), cap);
  return between(fmaf(params.scale[k], element(x, k), params.shift[k]), cap);
}

// Which of the four got channel k's gradient: the first of the largest outputs, as memory would
// have held them; -1 when ReLU let none through.
template <typename T>
__device__ int winner(const NormBackwardArgs& args, const Params& params, const Raw<T> (&x)[4],
                      int k) {
  float most = 0;
  int at = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float value = rounded<T>(fmaf(params.scale[k], element(x[i], k), params.shift[k]));
    if (i == 0 || value > most) most = value, at = i;
  }
  return args.relu && !between(most, args.cap) ? -1 : at;
}

template <bool kAligned, typename T>
__device__ void load_quad(const T* x, const Quad& quad, const plan::Tiling& tiling, int valid,
                          Raw<T> (&to)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i] = load<kAligned>(x + offset_of(quad.position[i], tiling), valid);
  }
}

// The sums, dweight and dbias of them, and dz.
void run_sums(const BackwardLaunch& launch, Mask mask, bool vectors, cudaStream_t on);
// dx, after run_sums(). `mask`: of what the gradient is read from, dz or dy.
void run_dx(const BackwardLaunch& launch, Mask mask, bool vectors, cudaStream_t on);

// Calls f.template operator()<kMask>().
template <typename F>
void dispatch_mask(Mask mask, const F& f) {
  if (mask == Mask::kNone) return f.template operator()<Mask::kNone>();
  if (mask == Mask::kOutput) return f.template operator()<Mask::kOutput>();
  f.template operator()<Mask::kRedo>();
}

}  // namespace adagp::cuda::norm
