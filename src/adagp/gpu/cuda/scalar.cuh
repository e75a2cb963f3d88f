#pragma once
// One number of either type that activations have.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace adagp::cuda {

__device__ inline float value_of(float x) {
  return x;
}
__device__ inline float value_of(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline void store(float* to, float x) {
  *to = x;
}
__device__ inline void store(__nv_bfloat16* to, float x) {
  *to = __float2bfloat16_rn(x);
}

}  // namespace adagp::cuda
