#pragma once
// Sums over positions, per channel, in a fixed order: two sums for each of a thread's channels go
// from threads to blocks, from blocks to cells, from cells to whoever comes last. See plan::Units.

#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/norm/vector.cuh"

namespace adagp::cuda::norm {

constexpr int kSums = 2 * kLanes;  // of a thread: [2, kLanes]

// What a summing kernel takes beside its arguments.
struct Sharing {
  plan::Units units;
  unsigned* cell_counters = nullptr;
  unsigned* tile_counters = nullptr;
  float* rows = nullptr;
};
inline Sharing sharing(const plan::Units& units, void* workspace) {
  auto* counters = static_cast<unsigned*>(workspace);
  return {units, counters, counters + plan::kCellCounters,
          reinterpret_cast<float*>(static_cast<char*>(workspace) + plan::kCounterBytes)};
}
inline dim3 grid_of(const plan::Units& units) {
  return dim3(static_cast<unsigned>(units.tiling.tiles), static_cast<unsigned>(units.cells),
              static_cast<unsigned>(units.chunks));
}

struct Scratch {
  static constexpr int kStride = kThreads + 8;  // the sums of eight vectors fall in other banks
  static constexpr int kFloats = kSums * kStride;
  alignas(16) float floats[kFloats];
  bool last;
};

// Positions [begin, end), of `count`, that a block adds up.
struct Range {
  uint32_t begin, end;
};
__device__ inline Range range_of(uint32_t count, uint32_t part, uint32_t piece) {
  const uint32_t begin = min(part * piece, count);
  return {begin, min(begin + piece, count)};
}
// Without regard to cells: blocks that start together read memory side by side.
__device__ inline Range flat_range(uint32_t count, const plan::Units& units) {
  return range_of(count, blockIdx.z * gridDim.y + blockIdx.y, units.piece);
}

// A cell's row of sums, once its chunks are added up: [2, channels of the tile].
__device__ inline float* cell_row(const Sharing& s, int cell) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * s.units.cells + cell;
  return s.rows + at * s.units.chunks * (kSums * s.units.tiling.width);
}

// Adds up the threads' sums of one channel. All threads must call it.
__device__ inline void block_sums(const float (&sum)[kSums], const plan::Tiling& tiling,
                                  Scratch& scratch, float* row) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kSums; ++k) scratch.floats[k * Scratch::kStride + thread] = sum[k];
  __syncthreads();

  const int columns = kSums * tiling.width, groups = kThreads / columns;
  const int column = thread % columns, group = thread / columns;
  const int k = column / tiling.width, vector = column % tiling.width;
  float total = 0;
  if (group < groups) {
    const float* from = scratch.floats + k * Scratch::kStride + vector;
#pragma unroll 4
    for (int r = group; r < tiling.rows; r += groups) total += from[r * tiling.width];
  }
  __syncthreads();
  scratch.floats[thread] = total;
  __syncthreads();
  if (thread >= columns) return;
  for (int g = 1; g < groups; ++g) total += scratch.floats[g * columns + thread];
  row[(k / kLanes * tiling.width + vector) * kLanes + k % kLanes] = total;
}

// Sum of `count` rows that are `stride` floats apart, by column: of column threadIdx.x, where there
// is one. All threads must call it.
__device__ inline float sum_rows(const float* rows, int count, int64_t stride,
                                 const plan::Tiling& tiling, Scratch& scratch) {
  constexpr int kAtOnce = 8;
  const int thread = static_cast<int>(threadIdx.x);
  const int columns = kSums * tiling.width, quads = columns / 4, groups = kThreads / quads;
  const int quad = thread % quads, group = thread / quads;
  float4 total = {0, 0, 0, 0};
  for (int first = group; group < groups && first < count; first += kAtOnce * groups) {
    float4 row[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * groups;
      row[i] = {0, 0, 0, 0};
      // Other blocks wrote it: past the first-level cache.
      if (at < count) row[i] = __ldcg(reinterpret_cast<const float4*>(rows + at * stride) + quad);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      total.x += row[i].x, total.y += row[i].y, total.z += row[i].z, total.w += row[i].w;
    }
  }
  __syncthreads();
  if (group < groups) reinterpret_cast<float4*>(scratch.floats)[thread] = total;
  __syncthreads();
  float sum = 0;
  if (thread < columns) {
    for (int g = 0; g < groups; ++g) sum += scratch.floats[g * columns + thread];
  }
  __syncthreads();
  return sum;
}

// counter = counter == most ? 0 : counter + 1, and the value before. What this block wrote before
// is seen by those who count later (release), and the other way round (acquire).
__device__ inline unsigned count_up(unsigned* counter, unsigned most) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(most)
               : "memory");
  return before;
}

// Whether this block is the last of `count` to come here; it then sees what the others wrote. The
// counter is zero again afterwards. All threads must call it.
__device__ inline bool last_done(unsigned* counter, int count, Scratch& scratch) {
  __syncthreads();
  if (count == 1) return true;
  if (threadIdx.x == 0) {
    const auto most = static_cast<unsigned>(count - 1);
    scratch.last = count_up(counter, most) == most;
  }
  __syncthreads();
  return scratch.last;
}

// Brings parameters of a tile's channels to L2 for the block that comes last, which would have to
// wait for memory.
template <int kArrays>
__device__ inline void prefetch_params(const plan::Tiling& tiling,
                                       const float* const (&arrays)[kArrays]) {
  constexpr int kLine = 128 / sizeof(float);
  if (blockIdx.y != 0 || blockIdx.z != 0) return;
  const int in_tile = kLanes * tiling.width, first = static_cast<int>(threadIdx.x) * kLine;
  const int channel = static_cast<int>(blockIdx.x) * in_tile + first;
  if (first >= in_tile || channel >= tiling.channels) return;
#pragma unroll
  for (const float* const array : arrays) {
    if (array != nullptr) prefetch(array + channel);
  }
}

// What reduce_cells() gives.
struct Reduced {
  bool last = false;  // in one block of each tile, the last to come: all rows are complete
  float cell = 0;     // of this block's cell, column threadIdx.x; where the cell is complete
};

// The threads' sums to the rows of cells. on_cell(column, sum) is called for each column of a cell,
// once that is complete. All threads must call it. A cell of one chunk, and a tile of one cell, do
// not wait for memory.
template <typename OnCell>
__device__ inline Reduced reduce_cells(const Sharing& s, const float (&sum)[kSums],
                                       Scratch& scratch, OnCell&& on_cell) {
  const plan::Tiling& tiling = s.units.tiling;
  const int thread = static_cast<int>(threadIdx.x), columns = kSums * tiling.width;
  float* row = cell_row(s, static_cast<int>(blockIdx.y));
  Reduced out;
  if (s.units.chunks > 1) {
    block_sums(sum, tiling, scratch, row + static_cast<int64_t>(blockIdx.z) * columns);
    unsigned* counter = s.cell_counters + blockIdx.x * gridDim.y + blockIdx.y;
    if (!last_done(counter, s.units.chunks, scratch)) return out;
    out.cell = sum_rows(row, s.units.chunks, columns, tiling, scratch);
  } else {
    float* const own = scratch.floats + kThreads;
    block_sums(sum, tiling, scratch, own);
    __syncthreads();
    if (thread < columns) out.cell = own[thread];
  }
  if (thread < columns) {
    row[thread] = out.cell;
    on_cell(thread, out.cell);
  }
  out.last = last_done(s.tile_counters + blockIdx.x, s.units.cells, scratch);
  return out;
}

__device__ inline Reduced reduce_cells(const Sharing& s, const float (&sum)[kSums],
                                       Scratch& scratch) {
  return reduce_cells(s, sum, scratch, [](int, float) {});
}

// After reduce_cells(), in the last block: the sum of all cells in column threadIdx.x.
__device__ inline float sum_cells(const Sharing& s, const Reduced& reduced, Scratch& scratch) {
  if (s.units.cells == 1) return reduced.cell;
  const int64_t stride = static_cast<int64_t>(s.units.chunks) * kSums * s.units.tiling.width;
  return sum_rows(cell_row(s, 0), s.units.cells, stride, s.units.tiling, scratch);
}

}  // namespace adagp::cuda::norm
