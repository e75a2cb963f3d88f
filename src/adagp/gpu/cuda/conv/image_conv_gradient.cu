// The weight gradient of the first convolution of images: each block adds up what its bands give
// (image_conv_stage.cuh), then a second kernel adds up the blocks.

#include <algorithm>

#include "adagp/gpu/cuda/conv/image_conv_stage.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"

namespace adagp::cuda {
namespace image_conv {
namespace {

// Filters of dy at four positions of a tile: 2t, 2t + 1, 2t + 8, 2t + 9.
template <int kWords>
struct Raw {
  uint32_t word[4][kWords];

  // dy: at this lane's first filter of position 2t of the first tile.
  __device__ void load(const uint16_t* dy, int64_t tile) {
    constexpr int kFilters = 16 * kWords;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const uint16_t* from = dy + (tile * kTile + n % 2 + n / 2 * 8) * kFilters;
      if constexpr (kWords == 4) {
        const uint4 got = __ldg(reinterpret_cast<const uint4*>(from));
        word[n][0] = got.x, word[n][1] = got.y, word[n][2] = got.z, word[n][3] = got.w;
      } else {
        const uint2 got = __ldg(reinterpret_cast<const uint2*>(from));
        word[n][0] = got.x, word[n][1] = got.y;
      }
    }
  }
};

// Warps whose numbers differ in kBit share what they have, 2 * kHalf sums each: the one without the
// bit takes the first half. It is in the first places of both afterwards.
template <int kHalf, int kBit, int kValues>
__device__ void add_halves(float (&sums)[kValues / 4][4], float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const bool second = (warp & kBit) != 0;
  float* const mine = shared + warp * (kValues / 2) * 32 + lane;
  const float* const theirs = shared + (warp ^ kBit) * (kValues / 2) * 32 + lane;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    // Values, not places: a choice between places would put the sums into memory.
    const float one = sums[i / 4][i % 4], two = sums[(i + kHalf) / 4][(i + kHalf) % 4];
    mine[i * 32] = second ? one : two;
    sums[i / 4][i % 4] = second ? two : one;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kHalf; ++i) sums[i / 4][i % 4] += theirs[i * 32];
  __syncthreads();
}

// Adds up the warps' sums. Warp w ends up with those from w * kValues / kWarps on, in its first
// places.
template <int kValues>
__device__ void add_warps(float (&sums)[kValues / 4][4], float* shared) {
  static_assert(kWarps == 8 && kValues % 8 == 0);
  add_halves<kValues / 2, 4, kValues>(sums, shared);
  add_halves<kValues / 4, 2, kValues>(sums, shared);
  add_halves<kValues / 8, 1, kValues>(sums, shared);
}

// partial[block, value, lane] = sums of dy[position, filter] * tap over the block's positions. A
// warp has 16 positions at a time, which are the depth of its products.
template <typename T, int kFilters>
__global__ void __launch_bounds__(kThreads, 2)
    reduce_kernel(const __grid_constant__ Bands bands, const void* x, const uint16_t* dy_in,
                  float* partial) {
  constexpr int kWords = kFilters / 16;  // pairs of filters of a lane, and products
  constexpr int kValues = kWords * 4 * 4;
  auto* const staged = reinterpret_cast<uint16_t*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int r = lane / 4, t = lane % 4;
  const int first = bands.first_unit(static_cast<int>(blockIdx.x));
  const int end = bands.first_unit(static_cast<int>(blockIdx.x) + 1);
  const int tiles = bands.tiles();

  Stage<T> stage(bands, x);
  stage.fetch(first);
  const uint16_t* dy = dy_in + 2 * t * kFilters + 2 * kWords * r;
  Raw<kWords> raw = {};
  if (warp < tiles) raw.load(dy, static_cast<int64_t>(first) * tiles + warp);
  Stage<T>::clear(bands, staged);
  __syncthreads();
  stage.put(first, staged);
  int taps[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) taps[j] = staged_tap(8 * j + r, bands.pitch());
  float sums[kValues / 4][4] = {};
  __syncthreads();

  int turn = 0;  // where the band is: in the first or in the second half
  for (int unit = first; unit < end; ++unit) {
    const uint16_t* here = staged + turn;
    if (unit + 1 < end) stage.fetch(unit + 1);
    for (int tile = warp; tile < tiles; tile += kWarps) {
      uint32_t a[kWords][4];
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        a[i][0] = __byte_perm(raw.word[0][i], raw.word[1][i], 0x5410);
        a[i][1] = __byte_perm(raw.word[0][i], raw.word[1][i], 0x7632);
        a[i][2] = __byte_perm(raw.word[2][i], raw.word[3][i], 0x5410);
        a[i][3] = __byte_perm(raw.word[2][i], raw.word[3][i], 0x7632);
      }
      // The next tile, also beyond this band: these loads are what takes time.
      const bool more = tile + kWarps < tiles;
      if (more || unit + 1 < end) {
        const int next = more ? unit * tiles + tile + kWarps : (unit + 1) * tiles + warp;
        raw.load(dy, next);
      }
      const uint16_t* low = window(bands, here, tile * kTile + 2 * t);
      const uint16_t* high = window(bands, here, tile * kTile + 2 * t + 8);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        // The next position is in the same row, because widths are even.
        const uint32_t b0 = joined(low[taps[j]], low[taps[j] + kChannels]);
        const uint32_t b1 = joined(high[taps[j]], high[taps[j] + kChannels]);
#pragma unroll
        for (int i = 0; i < kWords; ++i) multiply_add(sums[4 * i + j], a[i], b0, b1);
      }
    }
    turn = bands.elements() - turn;
    if (unit + 1 < end) stage.put(unit + 1, staged + turn);
    __syncthreads();
  }

  add_warps<kValues>(sums, reinterpret_cast<float*>(shared_memory()));
  constexpr int kLeft = kValues / kWarps;
  float* to = partial + static_cast<int64_t>(blockIdx.x) * kValues * 32 + warp * kLeft * 32 + lane;
#pragma unroll
  for (int i = 0; i < kLeft; ++i) to[i * 32] = sums[i / 4][i % 4];
}

constexpr int kGroups = 32;

// One block for each value: 32 lanes, times groups that share the blocks' partial sums.
template <int kFilters>
__global__ void __launch_bounds__(32 * kGroups)
    finish_kernel(const float* partial, int count, uint16_t* dweight) {
  constexpr int kValues = kFilters;
  __shared__ float shared[kGroups][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, group = static_cast<int>(threadIdx.x) / 32;
  const int value = static_cast<int>(blockIdx.x);
  const float* from = partial + value * 32 + lane;
  float sum = 0;
#pragma unroll 4
  for (int i = group; i < count; i += kGroups) sum += from[static_cast<int64_t>(i) * kValues * 32];
  shared[group][lane] = sum;
  __syncthreads();
#pragma unroll
  for (int half = kGroups / 2; half > 0; half /= 2) {
    if (group < half) shared[group][lane] += shared[group + half][lane];
    __syncthreads();
  }
  const GradientPlace place = gradient_place(lane, value, kFilters);
  if (group == 0 && place.tap < kTaps) {
    dweight[place.filter * kTaps + place.tap] =
        static_cast<uint16_t>(pack_low(shared[0][lane], 0.0F));
  }
}

}  // namespace
}  // namespace image_conv

void image_conv_weight_gradient(const ImageConvArgs& args, Stream stream) {
  using namespace image_conv;
  const Bands bands = checked(args);
  dispatch(args, [&]<typename T, int kFilters>() {
    const int exchanged = kThreads * kFilters / 2 * 4;  // bytes of add_warps()
    launch(Begin::kAfter, reduce_kernel<T, kFilters>, bands.blocks, kThreads,
           std::max(2 * bands.elements() * 2, exchanged), stream, "image_conv_weight_gradient",
           bands, args.x, static_cast<const uint16_t*>(args.dy), args.workspace);
    launch(Begin::kAfter, finish_kernel<kFilters>, kFilters, 32 * kGroups, 0, stream,
           "image_conv_weight_gradient", args.workspace, bands.blocks,
           static_cast<uint16_t*>(args.dweight));
  });
}

}  // namespace adagp::cuda
