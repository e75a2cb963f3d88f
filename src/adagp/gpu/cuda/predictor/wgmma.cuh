#pragma once
// The wgmma instructions: products of a warpgroup (four warps), whose operands lie in shared memory
// and which run beside other instructions. Compute capability 9.0, compiled as 90a.
//
// Sums of 64 x n: a lane holds [8 columns] as mma.cuh says, warp w rows 16 * w and on.

#include <cstdint>

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ADAGP_HAS_WGMMA 1
#endif

namespace adagp::cuda {

// What cp.async wrote is there for wgmma, too. Before the barrier behind the copies.
__device__ inline void show_copies_to_wgmma() {
#ifdef ADAGP_HAS_WGMMA
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}

#ifdef ADAGP_HAS_WGMMA

// A matrix in shared memory, rows of 128 bytes with exchanged pieces (tile_products.cuh). `block`:
// bytes from 64 elements along a row to the next 64, where the rows are what is summed over.
__device__ inline uint64_t wgmma_matrix(uint32_t address, uint32_t block) {
  constexpr uint64_t kEightRows = 1024, kPieces128 = uint64_t{1} << 62;
  return ((address & 0x3FFFFU) >> 4) | (static_cast<uint64_t>(block >> 4) << 16) |
         ((kEightRows >> 4) << 32) | kPieces128;
}

// Before products: other instructions are done with their registers.
__device__ inline void wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
// The products since the last end are a group.
__device__ inline void wgmma_end() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
// Until all groups but the last `kPending` are done.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

#define ADAGP_SUM(i) "+f"(sums[(i)][0]), "+f"(sums[(i)][1]), "+f"(sums[(i)][2]), "+f"(sums[(i)][3])
// Of 64 x 256: their numbers in the instruction, and the operands.
#define ADAGP_128_SUMS                                                                           \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
  "%127"
#define ADAGP_ALL_SUMS                                                                          \
  ADAGP_SUM(0), ADAGP_SUM(1), ADAGP_SUM(2), ADAGP_SUM(3), ADAGP_SUM(4), ADAGP_SUM(5),           \
      ADAGP_SUM(6), ADAGP_SUM(7), ADAGP_SUM(8), ADAGP_SUM(9), ADAGP_SUM(10), ADAGP_SUM(11),     \
      ADAGP_SUM(12), ADAGP_SUM(13), ADAGP_SUM(14), ADAGP_SUM(15), ADAGP_SUM(16), ADAGP_SUM(17), \
      ADAGP_SUM(18), ADAGP_SUM(19), ADAGP_SUM(20), ADAGP_SUM(21), ADAGP_SUM(22), ADAGP_SUM(23), \
      ADAGP_SUM(24), ADAGP_SUM(25), ADAGP_SUM(26), ADAGP_SUM(27), ADAGP_SUM(28), ADAGP_SUM(29), \
      ADAGP_SUM(30), ADAGP_SUM(31)

// sums += a . b^T over 16 k, which lie along the rows of both.
__device__ inline void wgmma(float (&sums)[8][4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, 1, 1, 1, 0, 0;\n"
      : ADAGP_SUM(0), ADAGP_SUM(1), ADAGP_SUM(2), ADAGP_SUM(3), ADAGP_SUM(4), ADAGP_SUM(5),
        ADAGP_SUM(6), ADAGP_SUM(7)
      : "l"(a), "l"(b));
}

// The same for 32 columns.
__device__ inline void wgmma(float (&sums)[4][4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, %16, %17, 1, 1, 1, 0, 0;\n"
      : ADAGP_SUM(0), ADAGP_SUM(1), ADAGP_SUM(2), ADAGP_SUM(3)
      : "l"(a), "l"(b));
}

// sums += a . b over 16 k: rows of b are k.
__device__ inline void wgmma(float (&sums)[32][4], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" ADAGP_128_SUMS
               "}, {%128, %129, %130, %131}, %132, 1, 1, 1, 1;\n"
               : ADAGP_ALL_SUMS
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// sums += a^T . b over 16 k: rows of both are k.
__device__ inline void wgmma_transposed(float (&sums)[32][4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" ADAGP_128_SUMS
               "}, %128, %129, 1, 1, 1, 1, 1;\n"
               : ADAGP_ALL_SUMS
               : "l"(a), "l"(b));
}

#undef ADAGP_ALL_SUMS
#undef ADAGP_128_SUMS
#undef ADAGP_SUM
#endif

}  // namespace adagp::cuda
