// What every kernel file needs of the CUDA runtime.

#include <cuda_runtime.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

bool compiled() {
  return true;
}

const char* architectures() {
  return ADAGP_CUDA_ARCHITECTURES;
}

std::string unusable(int device) {
  cudaDeviceProp properties{};
  if (const cudaError_t failed = cudaGetDeviceProperties(&properties, device)) {
    cudaGetLastError();
    return cudaGetErrorString(failed);
  }
  int current = 0;
  cudaGetDevice(&current);
  cudaSetDevice(device);
  cudaFuncAttributes attributes{};
  const bool runs = cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess;
  cudaSetDevice(current);
  if (!runs) {
    cudaGetLastError();
    return core::cat(properties.name, " is of compute capability ", properties.major, ".",
                     properties.minor, ", and this program has kernels for ", architectures());
  }
  return "";
}

std::string device_name(int device) {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, device) == cudaSuccess ? properties.name : "";
}

double memory_bandwidth(int device) {
  int kilohertz = 0, bits = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device) != cudaSuccess) {
    return 0;
  }
  return 2e3 * kilohertz * (bits / 8.0);  // double data rate
}

int64_t block_memory(int device) {
  int bytes = 0;
  if (cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
      cudaSuccess) {
    return bytes;
  }
  cudaGetLastError();
  return 0;
}

void check_launch(const char* what) {
  const cudaError_t failed = cudaGetLastError();
  if (failed == cudaSuccess) return;
  throw Error(core::cat("CUDA kernel ", what, ": ", cudaGetErrorString(failed)));
}

}  // namespace adagp::cuda
