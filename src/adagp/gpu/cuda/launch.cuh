#pragma once
// A launch with what goes with it: leave for much shared memory, and the check. And launches that
// begin while the one before them on the stream ends, which hides what a launch costs.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// false: every launch begins when the one before is done.
constexpr bool kOverlapLaunches = true;

inline bool overlaps_launches() {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return kOverlapLaunches && major == 9;  // tried there alone
}

enum class Begin {
  kAfter,  // when the launch before is done
  kEarly,  // when all its blocks have ended or gone past wait_for_before(): it must be one of ours
};

template <typename... Parameters>
void launch(Begin begin, void (*kernel)(Parameters...), int64_t blocks, int threads,
            int shared_bytes, Stream stream, const char* what,
            const std::type_identity_t<Parameters>&... arguments) {
  if (blocks <= 0) return;
  if (shared_bytes > 48 * 1024) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &early;
  config.numAttrs = begin == Begin::kEarly && overlaps_launches() ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, arguments...);
  check_launch(what);
}

// Every thread of a kernel that begins early, or behind which another one does, calls this once.
// Before the call it writes nothing and reads nothing that the launch before writes; after it that
// launch is done and its writes are seen. The order inside, first wait and then let the next one
// begin, keeps that promise short: whoever begins early has only the one launch before it to think
// of, all others are done.
__device__ inline void wait_for_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}

}  // namespace adagp::cuda
