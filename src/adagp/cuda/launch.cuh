#pragma once
// A launch with what goes with it: leave for much shared memory, and the check.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "adagp/cuda/types.h"

namespace adagp::cuda {

template <typename... Parameters>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, int shared_bytes,
            Stream stream, const char* what, const std::type_identity_t<Parameters>&... arguments) {
  if (blocks <= 0) return;
  if (shared_bytes > 48 * 1024) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  }
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  check_launch(what);
}

}  // namespace adagp::cuda
