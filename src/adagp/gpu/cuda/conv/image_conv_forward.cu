// The first convolution of images, forward. Its bands: image_conv_stage.cuh.

#include "adagp/gpu/cuda/conv/image_conv_stage.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"

namespace adagp::cuda {
namespace image_conv {
namespace {

// y[position, filter] = sum over taps. A warp has 16 positions at a time; the filters stay in
// registers.
template <typename T, int kFilters>
__global__ void __launch_bounds__(kThreads, 2)
    forward_kernel(const __grid_constant__ Bands bands, const void* x, const uint16_t* weight,
                   uint16_t* y) {
  constexpr int kProducts = kFilters / 8;
  __shared__ __align__(16) uint16_t filters[kFilters * kDepth];
  auto* const staged = reinterpret_cast<uint16_t*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int r = thread % 32 / 4, t = thread % 4, q = 2 * t;
  const int first = bands.first_unit(static_cast<int>(blockIdx.x));
  const int end = bands.first_unit(static_cast<int>(blockIdx.x) + 1);

  Stage<T> stage(bands, x);
  stage.fetch(first);
  for (int i = thread; i < kFilters * kDepth; i += kThreads) {
    const int tap = i % kDepth;
    filters[i] = tap < kTaps ? weight[i / kDepth * kTaps + tap] : uint16_t{0};
  }
  Stage<T>::clear(bands, staged);
  __syncthreads();
  stage.put(first, staged);
  uint32_t b[kProducts][2][2];
  int taps[2][2][2];
#pragma unroll
  for (int s = 0; s < 2; ++s) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int tap = 16 * s + 8 * h + q;
      taps[s][h][0] = staged_tap(tap, bands.pitch());
      taps[s][h][1] = staged_tap(tap + 1, bands.pitch());
#pragma unroll
      for (int j = 0; j < kProducts; ++j) {
        b[j][s][h] = *reinterpret_cast<const uint32_t*>(filters + filter_of(j, r) * kDepth + tap);
      }
    }
  }
  // Taps that are none must be zeros, too: infinity times zero is not.
  const uint32_t real = (24 + q < kTaps ? 0xFFFFU : 0U) | (25 + q < kTaps ? 0xFFFF0000U : 0U);
  __syncthreads();

  int turn = 0;  // where the band is: in the first or in the second half
  for (int unit = first; unit < end; ++unit) {
    const uint16_t* here = staged + turn;
    if (unit + 1 < end) stage.fetch(unit + 1);
    for (int tile = warp; tile < bands.tiles(); tile += kWarps) {
      const int position = tile * kTile + r;
      const uint16_t* upper = window(bands, here, position);
      const uint16_t* lower = window(bands, here, position + 8);
      float sums[kProducts][4] = {};
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        uint32_t a[4];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          a[2 * h] = joined(upper[taps[s][h][0]], upper[taps[s][h][1]]);
          a[2 * h + 1] = joined(lower[taps[s][h][0]], lower[taps[s][h][1]]);
          if (s == 1 && h == 1) a[2] &= real, a[3] &= real;
        }
#pragma unroll
        for (int j = 0; j < kProducts; ++j) multiply_add(sums[j], a, b[j][s][0], b[j][s][1]);
      }
      const int64_t at = static_cast<int64_t>(unit) * bands.tiles() * kTile + position;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint16_t* to = y + (at + 8 * h) * kFilters + 8 * t;
#pragma unroll
        for (int v = 0; v < kProducts / 4; ++v) {
          uint32_t word[4];
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            const float(&sum)[4] = sums[4 * v + m];
            word[m] = pack_low(sum[2 * h], sum[2 * h + 1]);
          }
          *reinterpret_cast<uint4*>(to + 32 * v) = make_uint4(word[0], word[1], word[2], word[3]);
        }
      }
    }
    turn = bands.elements() - turn;
    if (unit + 1 < end) stage.put(unit + 1, staged + turn);
    __syncthreads();
  }
}

}  // namespace
}  // namespace image_conv

void image_conv_forward(const ImageConvArgs& args, Stream stream) {
  using namespace image_conv;
  const Bands bands = checked(args);
  dispatch(args, [&]<typename T, int kFilters>() {
    launch(Begin::kAfter, forward_kernel<T, kFilters>, bands.blocks, kThreads,
           2 * bands.elements() * 2, stream, "image_conv_forward", bands, args.x,
           static_cast<const uint16_t*>(args.weight), static_cast<uint16_t*>(args.y));
  });
}

}  // namespace adagp::cuda
