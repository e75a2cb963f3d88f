// The convolutions of narrow_conv.h, forward. All weights stay in a block's shared memory; units
// pass by, half their channels at a time.

#include "adagp/gpu/cuda/conv/narrow_conv_stage.cuh"
#include "adagp/gpu/cuda/launch.cuh"

namespace adagp::cuda {
namespace narrow_conv {
namespace {

constexpr int kRow = kStageChannels * 2;        // bytes of a staged position
constexpr int kSteps = kStageChannels / kTile;  // products of a tap and a half

// The weights of a tap are 32 rows of 256 bytes; row 8 * j + column is filter_of(j, column).
__device__ inline void stage_weights(uint32_t to, const uint16_t* weight) {
  constexpr int kParts = kChannels * 2 / 16;
  for (int i = static_cast<int>(threadIdx.x); i < kTaps * kFilters * kParts; i += kThreads) {
    const int part = i % kParts, row = i / kParts % kFilters, tap = i / kParts / kFilters;
    const int filter = filter_of(row / 8, row % 8);
    copy_async(to + static_cast<uint32_t>(tap * kFilters * kChannels * 2 +
                                          swizzled<kChannels * 2>(row, part)),
               weight + (filter * kTaps + tap) * kChannels + part * 8, true);
  }
}

// y[position, filter] = sum over taps and channels. A warp has kTiles times 16 positions.
template <int kTiles>
__global__ void __launch_bounds__(kThreads, 1)
    forward_kernel(const __grid_constant__ Units units, const uint16_t* x, const uint16_t* weight,
                   uint16_t* y) {
  const uint32_t weights = shared_address(shared_memory());
  const uint32_t zeros = weights + kWeightBytes, stages = zeros + kZeroBytes;
  const uint32_t stage_bytes = static_cast<uint32_t>(units.staged() * kRow);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int first = units.first_unit(static_cast<int>(blockIdx.x));
  const int end = units.first_unit(static_cast<int>(blockIdx.x) + 1);
  const auto bring = [&](int unit, int half, uint32_t to) {
    stage_rows<kRow, kChannels * 2>(to, x, units.positions, unit * units.size - units.halo(),
                                    units.staged(), half * kRow);
    copy_commit();
  };
  clear_zeros(zeros);
  stage_weights(weights, weight);
  bring(first, 0, stages);

  // Which rows of the four matrices a lane addresses: of the map positions, of the weights filters.
  const int row_a = lane % 16, part_a = lane / 16;
  const int row_b = lane / 16 * 8 + lane % 8, part_b = lane / 8 % 2;
  const uint32_t weights_here =
      weights + static_cast<uint32_t>(swizzled<kChannels * 2>(row_b, part_b));
  const int mine = warp * kTiles * kTile;  // the warp's first position in a unit
  uint32_t taps[kTaps];                    // from a tile's first position on
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    const int row = row_a + tap_offset(tap, units.width);
    taps[tap] = static_cast<uint32_t>(mine * kRow + swizzled<kRow>(row, part_a));
  }

  uint32_t here = stages, other = stages + stage_bytes;
  for (int unit = first; unit < end; ++unit) {
    uint32_t inside[kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      inside[i] =
          taps_inside(units, static_cast<uint32_t>(unit * units.size + mine + i * kTile + row_a));
    }
    float sums[kTiles][4][4] = {};
#pragma unroll 1
    for (int half = 0; half < kHalves; ++half) {
      copy_wait<0>();
      __syncthreads();  // all copies are there, and nobody reads the other stage
      if (half + 1 < kHalves) {
        bring(unit, half + 1, other);
      } else if (unit + 1 < end) {
        bring(unit + 1, 0, other);
      }
      const uint32_t weights_half = weights_here + static_cast<uint32_t>(half * kRow);
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        uint32_t from[kTiles];
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          from[i] = (inside[i] >> tap & 1) != 0
                        ? here + taps[tap] + static_cast<uint32_t>(i * kTile * kRow)
                        : zeros;
        }
        const uint32_t weights_tap =
            weights_half + static_cast<uint32_t>(tap * kFilters * kChannels * 2);
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          // Two parts of 16 bytes further: in a swizzled row that is an exclusive or.
          const uint32_t further = static_cast<uint32_t>(step) * 32;
          uint32_t b[2][4];
          load_matrices(b[0], weights_tap ^ further);
          load_matrices(b[1], (weights_tap ^ further) + 16 * kChannels * 2);
#pragma unroll
          for (int i = 0; i < kTiles; ++i) {
            uint32_t a[4];
            load_matrices(a, from[i] ^ further);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              multiply_add(sums[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
          }
        }
      }
      const uint32_t done = here;
      here = other;
      other = done;
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const auto position =
            static_cast<uint32_t>(unit * units.size + mine + i * kTile + lane / 4 + 8 * h);
        if (position >= units.positions) continue;
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) word[j] = pack_low(sums[i][j][2 * h], sums[i][j][2 * h + 1]);
        *reinterpret_cast<uint4*>(y + int64_t{position} * kFilters + lane % 4 * 8) =
            make_uint4(word[0], word[1], word[2], word[3]);
      }
    }
  }
}

template <int kTiles>
void run_forward(const NarrowConvArgs& args, Stream stream) {
  const Units units = forward_units(args.map, kTiles);
  launch(Begin::kAfter, forward_kernel<kTiles>, units.blocks, kThreads, forward_bytes(units),
         stream, "narrow_conv_forward", units, static_cast<const uint16_t*>(args.x),
         static_cast<const uint16_t*>(args.weight), static_cast<uint16_t*>(args.y));
}

}  // namespace
}  // namespace narrow_conv

void narrow_conv_forward(const NarrowConvArgs& args, Stream stream) {
  using namespace narrow_conv;
  check_fits(args);
  switch (forward_tiles(args.map, args.block_memory)) {
    case 4:
      return run_forward<4>(args, stream);
    case 2:
      return run_forward<2>(args, stream);
    default:
      return run_forward<1>(args, stream);
  }
}

}  // namespace adagp::cuda
