// Both kernels are products on tensor cores whose one side is gathered from a band of the image in
// shared memory. A block has several bands: while it works on one, the next is on its way.

#include <algorithm>

#include <cuda_runtime.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/cuda/image_conv_plan.h"
#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/mma.cuh"

namespace adagp::cuda {
namespace image_conv {
namespace {

struct Bf16 {
  uint16_t bits;
};

__device__ float2 load_pair(const float* from) {
  return __ldg(reinterpret_cast<const float2*>(from));
}
__device__ uint32_t load_pair(const Bf16* from) {
  return __ldg(reinterpret_cast<const unsigned int*>(from));
}
__device__ uint32_t low_pair(const float2& pair) {
  return pack_low(pair.x, pair.y);
}
__device__ uint32_t low_pair(uint32_t pair) {
  return pair;
}
__device__ uint32_t joined(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

// Brings bands to shared memory. fetch() only begins to load, put() waits for it and stores.
template <typename T>
struct Stage {
  // Pairs of a thread that fetch() loads; all of them where images are 32 wide.
  static constexpr int kHeld = 2;
  using Pair = decltype(load_pair(static_cast<const T*>(nullptr)));

  const Bands& bands;
  const T* x;
  Pair held[kHeld];

  __device__ Stage(const Bands& bands_in, const void* x_in)
      : bands(bands_in), x(static_cast<const T*>(x_in)) {}

  // Zeros once: what is around the image's columns is never written again.
  __device__ static void clear(const Bands& bands, uint16_t* memory) {
    auto* words = reinterpret_cast<uint32_t*>(memory);
    for (int i = static_cast<int>(threadIdx.x); i < bands.elements(); i += kThreads) words[i] = 0;
  }

  __device__ Pair load(int unit, int i) const {
    const int row = static_cast<int>(plan::quotient(static_cast<uint32_t>(i), bands.pairs));
    const uint32_t image = plan::quotient(static_cast<uint32_t>(unit), bands.per_image);
    const uint32_t band = static_cast<uint32_t>(unit) - image * bands.per_image.divisor;
    const bool above = row == 0 && band == 0;
    const bool below = row == bands.rows + 1 && band + 1 == bands.per_image.divisor;
    if (above || below) return Pair{};
    // Bands lie one behind the other, and this one begins a row earlier.
    const int64_t start = (static_cast<int64_t>(unit) * bands.rows - 1) * (kChannels * bands.width);
    return load_pair(x + start + 2 * i);
  }
  __device__ void store(uint16_t* to, int i, const Pair& pair) const {
    const int row = static_cast<int>(plan::quotient(static_cast<uint32_t>(i), bands.pairs));
    *reinterpret_cast<uint32_t*>(to + staged_pair(i, row)) = low_pair(pair);
  }

  template <int kCount>
  __device__ void load_some(int unit, int from, Pair (&to)[kCount]) const {
#pragma unroll
    for (int h = 0; h < kCount; ++h) {
      const int i = from + static_cast<int>(threadIdx.x) + h * kThreads;
      if (i < bands.all_pairs()) to[h] = load(unit, i);
    }
  }
  template <int kCount>
  __device__ void store_some(uint16_t* to, int from, const Pair (&pairs)[kCount]) const {
#pragma unroll
    for (int h = 0; h < kCount; ++h) {
      const int i = from + static_cast<int>(threadIdx.x) + h * kThreads;
      if (i < bands.all_pairs()) store(to, i, pairs[h]);
    }
  }

  __device__ void fetch(int unit) {
    load_some(unit, 0, held);
  }
  __device__ void put(int unit, uint16_t* to) const {
    store_some(to, 0, held);
    constexpr int kMore = 2;  // more would spill
#pragma unroll 1
    for (int from = kHeld * kThreads; from < bands.all_pairs(); from += kMore * kThreads) {
      Pair more[kMore];
      load_some(unit, from, more);
      store_some(to, from, more);
    }
  }
};

__device__ const uint16_t* window(const Bands& bands, const uint16_t* band, int position) {
  const auto row = plan::quotient(static_cast<uint32_t>(position), bands.columns);
  return band + staged_position(position, static_cast<int>(row));
}

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

Bands checked(const ImageConvArgs& args) {
  if (image_conv_fits(args.map, args.filters)) return bands_of(args.map);
  throw Error(core::cat("first convolution: map of ", args.map.batch, "x", args.map.height, "x",
                        args.map.width, "x", args.map.channels, ", ", args.filters,
                        " filters: not what the kernels take; use at::conv2d"));
}

// Calls f.template operator()<T, kFilters>().
template <typename F>
void dispatch(const ImageConvArgs& args, const F& f) {
  if (args.x_type == Type::kFloat) {
    args.filters == 32 ? f.template operator()<float, 32>() : f.template operator()<float, 64>();
  } else {
    args.filters == 32 ? f.template operator()<Bf16, 32>() : f.template operator()<Bf16, 64>();
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
