// One thread per new pixel.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "adagp/gpu/cuda/data/shrink.h"
#include "adagp/gpu/cuda/scalar.cuh"

namespace adagp::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads) shrink_kernel(ShrinkArgs args, int64_t pixels) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= pixels) return;
  const int height = static_cast<int>(args.height), width = static_cast<int>(args.width);
  const int out_height = static_cast<int>(args.out_height);
  const int out_width = static_cast<int>(args.out_width);
  const int x = static_cast<int>(at % out_width);
  const int y = static_cast<int>(at / out_width % out_height);
  const int64_t example = at / out_width / out_height;
  const int top = y * height / out_height;
  const int bottom = ((y + 1) * height + out_height - 1) / out_height;
  const int left = x * width / out_width;
  const int right = ((x + 1) * width + out_width - 1) / out_width;
  const T* image = static_cast<const T*>(args.in) + example * height * width * 3;
  float sums[3] = {0, 0, 0};
  for (int row = top; row < bottom; ++row) {
    for (int column = left; column < right; ++column) {
      const T* pixel = image + (row * width + column) * 3;
#pragma unroll
      for (int c = 0; c < 3; ++c) sums[c] += value_of(pixel[c]);
    }
  }
  const auto count = static_cast<float>((bottom - top) * (right - left));
  T* out = static_cast<T*>(args.out) + at * 3;
#pragma unroll
  for (int c = 0; c < 3; ++c) store(out + c, sums[c] / count);
}

template <typename T>
void launch(const ShrinkArgs& args, cudaStream_t stream) {
  const int64_t pixels = args.batch * args.out_height * args.out_width;
  const auto blocks = static_cast<unsigned>((pixels + kThreads - 1) / kThreads);
  shrink_kernel<T><<<blocks, kThreads, 0, stream>>>(args, pixels);
  check_launch("shrink");
}

}  // namespace

void shrink(const ShrinkArgs& args, Stream stream) {
  if (args.batch == 0) return;
  if (args.type == Type::kFloat) {
    launch<float>(args, static_cast<cudaStream_t>(stream));
  } else {
    launch<__nv_bfloat16>(args, static_cast<cudaStream_t>(stream));
  }
}

}  // namespace adagp::cuda
