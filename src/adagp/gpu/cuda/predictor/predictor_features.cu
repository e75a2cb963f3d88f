// One warp per summary, in fp32. A lane makes two channels of one row of the pooled output: four
// rows of the image, read once, serve 32 outputs of the convolution.

#include <algorithm>

#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/image.cuh"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int64_t kMostBlocks = 3 * 132;  // what an H200 holds

// A NaN stays one.
__device__ inline float relu(float value) {
  asm("max.NaN.f32 %0, %0, 0f00000000;" : "+f"(value));
  return value;
}

// Sum over a 2x2 window of relu(convolution), of the window's columns x and x + 1.
__device__ inline float window_sum(const float (&weight)[9], float bias,
                                   const float (&rows)[4][kImageSide], int x) {
  float part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int y = i / 2;
    part[i] = relu(convolve(weight, bias, rows[y], rows[y + 1], rows[y + 2], x + i % 2));
  }
  return part[0] + part[1] + part[2] + part[3];
}

__global__ void __launch_bounds__(kThreads)
    features_kernel(const float* summaries, int64_t rows, const float* conv_weight,
                    const float* conv_bias, uint16_t* features) {
  __shared__ __align__(16) float images[kWarps][kImageFloats];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int channel = 2 * (lane % 8), pooled_row = lane / 8;
  float* image = images[warp];
  clear_image(image, lane);

  wait_for_before();
  float weight[2][9], bias[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    // A quarter, for the mean over a window: exact, as it is a power of two.
    bias[c] = 0.25F * conv_bias[channel + c];
#pragma unroll
    for (int k = 0; k < 9; ++k) weight[c][k] = 0.25F * conv_weight[9 * (channel + c) + k];
  }

  const auto* pixels = reinterpret_cast<const float2*>(summaries);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kWarps;
  int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  float2 next = row < rows ? pixels[row * 32 + lane] : float2{};
  for (; row < rows; row += stride) {
    __syncwarp();
    put_pixels(image, lane, next);
    __syncwarp();
    if (row + stride < rows) next = pixels[(row + stride) * 32 + lane];

    float lines[4][kImageSide];
#pragma unroll
    for (int y = 0; y < 4; ++y) get_row(lines[y], image, 2 * pooled_row + y);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float out[kPooled];
#pragma unroll
      for (int x = 0; x < kPooled; ++x) {
        out[x] = window_sum(weight[c], bias[c], lines, 2 * x);
      }
      uint16_t* to = features + row * kFeatures + (channel + c) * 16 + pooled_row * kPooled;
      *reinterpret_cast<uint2*>(to) =
          make_uint2(pack_low(out[0], out[1]), pack_low(out[2], out[3]));
    }
  }
}

}  // namespace

void predictor_features(const FeaturesArgs& args, Stream stream) {
  const int64_t blocks = std::min(kMostBlocks, (args.rows + kWarps - 1) / kWarps);
  const Begin begin = args.behind_pool ? Begin::kEarly : Begin::kAfter;
  launch(begin, features_kernel, blocks, kThreads, 0, stream, "predictor_features", args.summaries,
         args.rows, args.net->conv_weight, args.net->conv_bias,
         static_cast<uint16_t*>(args.features));
}

}  // namespace adagp::cuda
