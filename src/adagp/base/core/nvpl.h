#pragma once
// NVPL BLAS, the matrix products of LibTorch's wheels for aarch64, and machines on which it hangs.
//
// Its tuned kernels size their blocks by the caches that /sys describes. Some virtual machines
// describe caches of 0 sets, and then a product of 300 x 300 matrices never ends (NVPL BLAS 0.6).
// Its generic kernels ask no cache.

#include "adagp/base/core/files.h"

namespace adagp::core {

// Caches are described, and every one that holds data has 0 sets.
bool caches_have_no_size(const fs::path& folder = "/sys/devices/system/cpu/cpu0/cache");

// On such an aarch64 machine: chooses the generic kernels, unless NVPL_BLAS_DEBUG_CPU_TYPE is set.
// Call it before the first product.
void avoid_nvpl_hang();

}  // namespace adagp::core
