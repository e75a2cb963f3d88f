// One block row per example, one thread per four pixels: twelve values that lie side by side.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "adagp/gpu/cuda/data/augment.h"
#include "adagp/gpu/cuda/scalar.cuh"

namespace adagp::cuda {
namespace {

constexpr int kPixels = 4, kValues = 3 * kPixels, kThreads = 256;

__device__ int mirrored(int i, int n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

// Twelve values at a place that is aligned to four of them.
__device__ void store_all(float* to, const float* values) {
  auto* out = reinterpret_cast<float4*>(to);
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    out[i] = make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
  }
}
__device__ unsigned bits_of(const __nv_bfloat162& pair) {
  return reinterpret_cast<const unsigned&>(pair);
}
__device__ void store_all(__nv_bfloat16* to, const float* values) {
  auto* out = reinterpret_cast<uint2*>(to);
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    const __nv_bfloat162 a = __floats2bfloat162_rn(values[4 * i], values[4 * i + 1]);
    const __nv_bfloat162 b = __floats2bfloat162_rn(values[4 * i + 2], values[4 * i + 3]);
    out[i] = make_uint2(bits_of(a), bits_of(b));
  }
}

// `aligned`: every example begins at a place aligned to four values.
template <typename T>
__global__ void __launch_bounds__(kThreads) augment_kernel(AugmentArgs args, bool aligned) {
  const int64_t example = blockIdx.x;
  const Window window = args.windows[example];
  const int height = static_cast<int>(args.height), width = static_cast<int>(args.width);
  const int pixels = height * width;
  const bool carries_label = blockIdx.y == 0 && threadIdx.x == 0;
  const int64_t label = carries_label ? args.labels[window.index] : 0;
  const int first = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x) * kPixels;
  if (first >= pixels) return;

  const uint8_t* image = args.images + static_cast<int64_t>(window.index) * pixels * 3;
  uint8_t bytes[kValues];  // all of them on their way before the first is needed
  int y = first / width, x = first % width;
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    // Behind the image's end its last row is read once more, and not stored.
    const int row = mirrored(min(y, height - 1) + window.down, height);
    const int column = mirrored((window.flip != 0 ? width - 1 - x : x) + window.right, width);
    const uint8_t* pixel = image + (row * width + column) * 3;
#pragma unroll
    for (int c = 0; c < 3; ++c) bytes[3 * k + c] = pixel[c];
    if (++x == width) x = 0, ++y;
  }
  float values[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    values[i] = fmaf(args.slope[i % 3], static_cast<float>(bytes[i]), args.offset[i % 3]);
  }

  if (carries_label) args.out_labels[example] = label;
  T* out = static_cast<T*>(args.out) + (example * pixels + first) * 3;
  if (aligned && first + kPixels <= pixels) {
    store_all(out, values);
    return;
  }
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (first * 3 + i < pixels * 3) store(out + i, values[i]);
  }
}

template <typename T>
void launch(const AugmentArgs& args, cudaStream_t stream) {
  const int64_t pixels = args.height * args.width, groups = (pixels + kPixels - 1) / kPixels;
  const int64_t threads = std::min<int64_t>(kThreads, (groups + 31) / 32 * 32);
  const dim3 grid(static_cast<unsigned>(args.batch),
                  static_cast<unsigned>((groups + threads - 1) / threads));
  const bool aligned =
      pixels % kPixels == 0 && reinterpret_cast<uintptr_t>(args.out) % (4 * sizeof(T)) == 0;
  augment_kernel<T><<<grid, static_cast<unsigned>(threads), 0, stream>>>(args, aligned);
  check_launch("augment");
}

}  // namespace

void augment(const AugmentArgs& args, Stream stream) {
  if (args.batch == 0) return;
  if (args.type == Type::kFloat) {
    launch<float>(args, static_cast<cudaStream_t>(stream));
  } else {
    launch<__nv_bfloat16>(args, static_cast<cudaStream_t>(stream));
  }
}

}  // namespace adagp::cuda
