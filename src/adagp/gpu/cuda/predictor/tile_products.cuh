#pragma once
// Products of bf16 tiles in shared memory, by groups of four warps with 64 rows of sums each: by
// wgmma where the GPU has it, else by mma.
//
// A tile's rows are 64 elements, eight pieces of 16 bytes. They are swizzled: piece p of row r lies
// at p ^ (r % 8), so that eight rows at the same place along them are in different banks (the
// 128-byte swizzle of wgmma). A wider matrix is several such tiles, `block` bytes from one to the
// next. Tiles begin at multiples of 1024 bytes.
//
// Sums are as one warp of mma has them: [8 columns][fragment], warp w of the group rows 16 * w ...
// A product that was begun may run until wait_for_products(); until then nobody touches its sums
// and its operands.

#include <cstdint>

#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/wgmma.cuh"

namespace adagp::cuda::tile {

constexpr int kLeastMemory = 99 * 1024;  // of a block, on all GPUs since 8.0
constexpr int kStaticBytes = 1024;       // of it for small static arrays, with their alignment
constexpr int kRowBytes = 128, kEightRows = 8 * kRowBytes, kSixteenRows = 16 * kRowBytes;

__device__ inline uint32_t place(int row, int piece) {
  return static_cast<uint32_t>(row * kRowBytes + ((piece ^ (row % 8)) * 16));
}
// Of a matrix of several tiles.
__device__ inline uint32_t place_wide(int row, int piece, int block) {
  return static_cast<uint32_t>(piece / 8 * block) + place(row, piece % 8);
}

// A matrix of 256 columns, and where its tiles are.
struct Wide {
  uint32_t at, block;
};
// Of a matrix where nothing lies beside the first tile, or where wgmma does not look there.
[[maybe_unused]] constexpr uint32_t kUnused = 16;

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x % 32);
}
__device__ inline int warp_of_group() {
  return static_cast<int>(threadIdx.x / 32 % 4);
}
// A lane's sums are of this row of the block, and of the eighth behind it.
__device__ inline int own_row() {
  return static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
}

#ifndef ADAGP_HAS_WGMMA
// Rows 16 * h .. of b as the second operand of one product after the other: use(n, b) for 16
// columns.
template <typename Use>
__device__ inline void for_columns(const Wide& b, int h, const Use& use) {
#pragma unroll
  for (int n = 0; n < 16; ++n) {
    uint32_t part[4];
    load_matrices_transposed(
        part, b.at + h * kSixteenRows + place_wide(lane() % 16, 2 * n + lane() / 16, b.block));
    use(n, part);
  }
}
#endif

// Until all products but the last `kPending` are done.
template <int kPending>
__device__ inline void wait_for_products() {
#ifdef ADAGP_HAS_WGMMA
  wgmma_wait<kPending>();
#endif
}

__device__ inline void exchange(uint32_t& first, uint32_t& second, int distance) {
  const bool upper = (lane() & distance) != 0;
  const uint32_t other = __shfl_xor_sync(0xFFFFFFFFU, upper ? first : second, distance);
  first = upper ? other : first;
  second = upper ? second : other;
}
// Word w of lane l, of four lanes beside each other, becomes word l of lane w. By the whole warp.
__device__ inline void transpose_words(uint32_t (&word)[4]) {
  exchange(word[0], word[1], 1);
  exchange(word[2], word[3], 1);
  exchange(word[0], word[2], 2);
  exchange(word[1], word[3], 2);
}

// Sums, times `factor`, to rows of 256 bf16: this lane has those of rows `row` and row + 8. Rows
// from `rows` on are left out. By the whole warp.
__device__ inline void store(uint16_t* to, const float (&sums)[32][4], float factor, int row,
                             int rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t begin = static_cast<int64_t>(row + 8 * half) * 256 + 8 * (lane() % 4);
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      uint32_t word[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const float(&sum)[4] = sums[4 * group + n];
        word[n] = pack_low(factor * sum[2 * half], factor * sum[2 * half + 1]);
      }
      transpose_words(word);
      if (row + 8 * half >= rows) continue;
      *reinterpret_cast<uint4*>(to + begin + 32 * group) =
          make_uint4(word[0], word[1], word[2], word[3]);
    }
  }
}

// Registers that a product reads or writes stay its own up to here: the compiler does not know that
// it runs on behind its instruction. Behind wait_for_products().
template <int kCount>
__device__ inline void hold(uint32_t (&registers)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) asm volatile("" : "+r"(registers[i / 4][i % 4])::"memory");
}
template <int kCount>
__device__ inline void hold(float (&registers)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) asm volatile("" : "+f"(registers[i / 4][i % 4])::"memory");
}

// sums = a . b^T: 64 rows of a (from a.at on, the group's own) by kCols rows of b.
template <int kCols>
__device__ inline void begin_multiply_rows(float (&sums)[kCols / 8][4], const Wide& a,
                                           const Wide& b) {
#pragma unroll
  for (auto& sum : sums) {
#pragma unroll
    for (float& part : sum) part = 0;
  }
#ifdef ADAGP_HAS_WGMMA
  wgmma_begin();
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const auto along = static_cast<uint32_t>(k % 4 * 32);
    wgmma(sums, wgmma_matrix(a.at + k / 4 * a.block + along, kUnused),
          wgmma_matrix(b.at + k / 4 * b.block + along, kUnused));
  }
  wgmma_end();
#else
#pragma unroll 4
  for (int k = 0; k < 16; ++k) {
    uint32_t first[4], second[4];
    load_matrices(first, a.at + place_wide(16 * warp_of_group() + lane() % 16, 2 * k + lane() / 16,
                                           static_cast<int>(a.block)));
#pragma unroll
    for (int n = 0; n < kCols / 16; ++n) {
      load_matrices(second, b.at + place_wide(16 * n + lane() % 8 + lane() / 16 * 8,
                                              2 * k + lane() / 8 % 2, static_cast<int>(b.block)));
      multiply_add(sums[2 * n], first, second[0], second[1]);
      multiply_add(sums[2 * n + 1], first, second[2], second[3]);
    }
  }
#endif
}

// sums += a . b: a in registers, 16 k each; rows of b are k.
template <int kSteps>
__device__ inline void begin_multiply_add_rows(float (&sums)[32][4], const uint32_t (&a)[kSteps][4],
                                               const Wide& b) {
#ifdef ADAGP_HAS_WGMMA
  wgmma_begin();
#pragma unroll
  for (int h = 0; h < kSteps; ++h) {
    wgmma(sums, a[h], wgmma_matrix(b.at + h * kSixteenRows, b.block));
  }
  wgmma_end();
#else
#pragma unroll
  for (int h = 0; h < kSteps; ++h) {
    for_columns(b, h, [&](int n, const uint32_t(&part)[4]) {
      multiply_add(sums[2 * n], a[h], part[0], part[1]);
      multiply_add(sums[2 * n + 1], a[h], part[2], part[3]);
    });
  }
#endif
}

// sums += a^T . b over 16 * kSteps k, which are the rows of both; of a the group's own 64 columns.
template <int kSteps>
__device__ inline void begin_multiply_add_transposed(float (&sums)[32][4], uint32_t a,
                                                     const Wide& b) {
#ifdef ADAGP_HAS_WGMMA
  wgmma_begin();
#pragma unroll
  for (int h = 0; h < kSteps; ++h) {
    wgmma_transposed(sums, wgmma_matrix(a + h * kSixteenRows, kUnused),
                     wgmma_matrix(b.at + h * kSixteenRows, b.block));
  }
  wgmma_end();
#else
#pragma unroll
  for (int h = 0; h < kSteps; ++h) {
    uint32_t first[4];
    load_matrices_transposed(
        first, a + h * kSixteenRows +
                   place(lane() % 8 + lane() / 16 * 8, 2 * warp_of_group() + lane() / 8 % 2));
    for_columns(b, h, [&](int n, const uint32_t(&part)[4]) {
      multiply_add(sums[2 * n], first, part[0], part[1]);
      multiply_add(sums[2 * n + 1], first, part[2], part[3]);
    });
  }
#endif
}

}  // namespace adagp::cuda::tile
