#pragma once
// A summary in shared memory with a border of zeros, for the 3x3 convolution: 10 rows of 10, each
// row padded to 12 floats so that it is read in 16-byte pieces.

#include <cuda_runtime.h>

#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {

constexpr int kPixels = kSummary * kSummary;
constexpr int kImageSide = kSummary + 2, kImageStride = 12;
constexpr int kImageFloats = kImageSide * kImageStride;

// The functions are for a whole warp; the caller puts __syncwarp() around them.
__device__ inline void clear_image(float* image, int lane) {
  for (int i = lane; i < kImageFloats; i += 32) image[i] = 0;
}

// Pixels 2*lane and 2*lane + 1 of the summary.
__device__ inline void put_pixels(float* image, int lane, float2 pixels) {
  float* to = image + (lane / 4 + 1) * kImageStride + 2 * (lane % 4) + 1;
  to[0] = pixels.x;
  to[1] = pixels.y;
}

__device__ inline void get_row(float (&row)[kImageSide], const float* image, int y) {
  const float* from = image + y * kImageStride;
  const float4 left = *reinterpret_cast<const float4*>(from);
  const float4 middle = *reinterpret_cast<const float4*>(from + 4);
  const float2 right = *reinterpret_cast<const float2*>(from + 8);
  row[0] = left.x, row[1] = left.y, row[2] = left.z, row[3] = left.w;
  row[4] = middle.x, row[5] = middle.y, row[6] = middle.z, row[7] = middle.w;
  row[8] = right.x, row[9] = right.y;
}

// The convolution's output at column x of the row between top and bottom.
__device__ inline float convolve(const float (&weight)[9], float bias,
                                 const float (&top)[kImageSide], const float (&middle)[kImageSide],
                                 const float (&bottom)[kImageSide], int x) {
  float sum = bias;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    sum += weight[k] * top[x + k];
    sum += weight[3 + k] * middle[x + k];
    sum += weight[6 + k] * bottom[x + k];
  }
  return sum;
}

}  // namespace adagp::cuda
