// The weight gradient of the convolutions of narrow_conv.h: each block adds up what its units give,
// then a second kernel adds up the blocks.

#include "adagp/gpu/cuda/conv/narrow_conv_stage.cuh"
#include "adagp/gpu/cuda/launch.cuh"

namespace adagp::cuda {
namespace narrow_conv {
namespace {

// The warps of the second half of those `left` groups give their sums to the first half.
template <int kSlicesHere>
__device__ void add_groups(float (&sums)[kSums / 4][4], int group, int slice, int left) {
  auto* const shared = reinterpret_cast<float*>(shared_memory());
  const int half = left / 2, lane = static_cast<int>(threadIdx.x) % 32;
  float* const at = shared + ((group % half) * kSlicesHere + slice) * kSums * 32 + lane;
  __syncthreads();
  if (group >= half && group < left) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) at[i * 32] = sums[i / 4][i % 4];
  }
  __syncthreads();
  if (group < half) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i / 4][i % 4] += at[i * 32];
  }
}

// partial[piece, slice, value, lane] = sums of dy[position, filter] * x[position + tap, channel]
// over the piece's positions. A warp has 16 positions at a time, the depth of its products.
template <int kSlicesHere>
__global__ void __launch_bounds__(kThreads, 1)
    reduce_kernel(const __grid_constant__ Units units, const uint16_t* x, const uint16_t* dy,
                  float* partial) {
  constexpr int kRow = kSlicesHere * 32, kDyRow = kFilters * 2;  // bytes of a staged position
  constexpr int kGroups = kWarps / kSlicesHere, kParts = kSlices / kSlicesHere;
  const uint32_t zeros = shared_address(shared_memory()), stages = zeros + kZeroBytes;
  const auto stage_bytes = static_cast<uint32_t>(gradient_stage_bytes(units, kSlicesHere));
  const auto dy_offset = static_cast<uint32_t>(units.staged() * kRow);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int slice = warp % kSlicesHere, group = warp / kSlicesHere;
  const int part = static_cast<int>(blockIdx.x) % kParts;
  const int piece = static_cast<int>(blockIdx.x) / kParts;
  const int first = units.first_unit(piece), end = units.first_unit(piece + 1);
  const auto bring = [&](int unit, uint32_t to) {
    const int start = unit * units.size;
    stage_rows<kRow, kChannels * 2>(to, x, units.positions, start - units.halo(), units.staged(),
                                    part * kRow);
    stage_rows<kDyRow, kDyRow>(to + dy_offset, dy, units.positions, start, units.size, 0);
    copy_commit();
  };
  clear_zeros(zeros);
  bring(first, stages);

  // Which rows of the four matrices a lane addresses; both are transposed on the way.
  const int row_a = lane / 16 * 8 + lane % 8, part_a = 2 * slice + lane / 8 % 2;
  const int row_b = lane % 16, part_b = lane / 16;
  uint32_t taps[kTaps];  // from a tile's first position on
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    const int row = row_a + tap_offset(tap, units.width);
    taps[tap] = static_cast<uint32_t>(swizzled<kRow>(row, part_a));
  }
  uint32_t dy_parts[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    dy_parts[k] = dy_offset + static_cast<uint32_t>(swizzled<kDyRow>(row_b, part_b + 2 * k));
  }

  float sums[kSums / 4][4] = {};
  uint32_t here = stages, other = stages + stage_bytes;
  const int tiles = units.size / kTile;
  for (int unit = first; unit < end; ++unit) {
    copy_wait<0>();
    __syncthreads();  // all copies are there, and nobody reads the other stage
    if (unit + 1 < end) bring(unit + 1, other);
    // Products wait for nothing: what they need was loaded two taps before.
    uint32_t a[3][4], b[2][4], next_b[2][4];
    uint32_t place = 0, inside = 0;
    const auto begin_tile = [&](int tile) {
      place = here + static_cast<uint32_t>(tile * kTile * kRow);
      inside = taps_inside(units, static_cast<uint32_t>(unit * units.size + tile * kTile + row_a));
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        load_matrices_transposed(next_b[k],
                                 here + static_cast<uint32_t>(tile * kTile * kDyRow) + dy_parts[k]);
      }
    };
    const auto load_tap = [&](int tap) {
      load_matrices_transposed(a[tap % 3], (inside >> tap & 1) != 0 ? place + taps[tap] : zeros);
    };
    begin_tile(group);
    load_tap(0);
    load_tap(1);
#pragma unroll 1
    for (int tile = group; tile < tiles; tile += kGroups) {
#pragma unroll
      for (int k = 0; k < 8; ++k) b[k / 4][k % 4] = next_b[k / 4][k % 4];
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        // Behind the last tile it is loaded once more.
        if (tap + 2 == kTaps) begin_tile(tile + kGroups < tiles ? tile + kGroups : tile);
        load_tap((tap + 2) % kTaps);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          multiply_add(sums[4 * tap + j], a[tap % 3], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    const uint32_t done = here;
    here = other;
    other = done;
  }

#pragma unroll
  for (int left = kGroups; left > 1; left /= 2) add_groups<kSlicesHere>(sums, group, slice, left);
  if (group > 0) return;
  float* const to =
      partial + (int64_t{piece} * kSlices + part * kSlicesHere + slice) * kSums * 32 + lane;
#pragma unroll
  for (int i = 0; i < kSums; ++i) to[i * 32] = sums[i / 4][i % 4];
}

constexpr int kSharers = 4, kValues = kThreads / kSharers;  // of a finishing block

// A block has 64 values; four threads share the pieces of each.
__global__ void __launch_bounds__(kThreads)
    finish_kernel(const float* partial, int pieces, uint16_t* dweight) {
  __shared__ float shared[kSharers][kValues];
  const int mine = static_cast<int>(threadIdx.x) % kValues;
  const int sharer = static_cast<int>(threadIdx.x) / kValues;
  const int value = static_cast<int>(blockIdx.x) * kValues + mine;
  float sum = 0;
#pragma unroll 8
  for (int i = sharer; i < pieces; i += kSharers) {
    sum += partial[int64_t{i} * kSlices * kSums * 32 + value];
  }
  shared[sharer][mine] = sum;
  __syncthreads();
  if (sharer > 0) return;
  sum = (shared[0][mine] + shared[1][mine]) + (shared[2][mine] + shared[3][mine]);
  const GradientPlace place = gradient_place(value % 32, value / 32 % kSums);
  const int channel = value / (kSums * 32) * 16 + place.channel;
  dweight[(place.filter * kTaps + place.tap) * kChannels + channel] =
      static_cast<uint16_t>(pack_low(sum, 0.0F));
}

template <int kSlicesHere>
void run_reduce(const NarrowConvArgs& args, const Units& units, Stream stream) {
  launch(Begin::kAfter, reduce_kernel<kSlicesHere>, units.blocks * (kSlices / kSlicesHere),
         kThreads, gradient_bytes(units, kSlicesHere), stream, "narrow_conv_weight_gradient", units,
         static_cast<const uint16_t*>(args.x), static_cast<const uint16_t*>(args.dy),
         args.workspace);
}

}  // namespace
}  // namespace narrow_conv

void narrow_conv_weight_gradient(const NarrowConvArgs& args, Stream stream) {
  using namespace narrow_conv;
  check_fits(args);
  const Units units = gradient_units(args.map);
  if (gradient_slices(args.map) == 4) {
    run_reduce<4>(args, units, stream);
  } else {
    run_reduce<2>(args, units, stream);
  }
  launch(Begin::kAfter, finish_kernel, kSlices * kSums * 32 / kValues, kThreads, 0, stream,
         "narrow_conv_weight_gradient", args.workspace, units.blocks,
         static_cast<uint16_t*>(args.dweight));
}

}  // namespace adagp::cuda
