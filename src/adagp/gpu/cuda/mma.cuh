#pragma once
// Instructions that CUDA C++ has no words for: bf16 tensor cores with fp32 sums, copies into shared
// memory that do not pass through registers, prefetches.

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace adagp::cuda {

// Dynamic shared memory; what is laid out in it relies on the alignment.
__device__ inline unsigned char* shared_memory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return memory;
}
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline uint32_t load_shared(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline uint4 load_shared_quad(uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// 16 bytes to shared memory; zeros unless valid, and then `from` is not read.
__device__ inline void copy_async(uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
// The same for what is read once: it leaves L2 first. One policy serves all of a thread's copies.
__device__ inline uint64_t read_once() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}
__device__ inline void copy_async(uint32_t to, const void* from, bool valid, uint64_t policy) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;\n" ::"r"(to),
               "l"(from), "r"(bytes), "l"(policy)
               : "memory");
}
// 4 bytes.
__device__ inline void copy_async_word(uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
// All copies since the last commit are a group; wait until at most `kPending` groups are under way.
// A thread waits for its own copies only: others' need a __syncthreads() behind it.
__device__ inline void copy_commit() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int kPending>
__device__ inline void copy_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// Brings the line to L2.
__device__ inline void prefetch(const void* from) {
  asm volatile("prefetch.global.L2 [%0];\n" ::"l"(from));
}

// Four 8x8 matrices of bf16. Lane i gives the address of row i%8 of matrix i/8 and receives of each
// matrix the elements (lane/4, 2*(lane%4)) and the one right of it; transposed: of its transpose.
__device__ inline void load_matrices(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// sum[16, 8] += a[16, 16] . b[16, 8]. With q = 2*(lane%4) and r = lane/4 a lane holds
//   a[0] (r, q..q+1)  a[1] (r+8, q..)  a[2] (r, q+8..)  a[3] (r+8, q+8..)   as (row, k)
//   b0 (q..q+1, r)    b1 (q+8.., r)                                         as (k, column)
//   sum[0..1] (r, q..q+1)  sum[2..3] (r+8, q..q+1)
__device__ inline void multiply_add(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two bf16 in a word, the first in its lower half.
__device__ inline uint32_t pack_low(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ inline float first_low(uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ inline float second_low(uint32_t pair) {
  return __uint_as_float(pair & 0xFFFF0000U);
}

}  // namespace adagp::cuda
