#pragma once
// Functions that a kernel and host code share: written once, so that tests on a CPU run the very
// code that the kernel runs.

#ifdef __CUDACC__
#define ADAGP_ON_BOTH_SIDES __host__ __device__
#else
#define ADAGP_ON_BOTH_SIDES
#endif

#ifdef __CUDA_ARCH__  // host compilers do not know it
#define ADAGP_UNROLL _Pragma("unroll")
#else
#define ADAGP_UNROLL
#endif
