#pragma once
// What LibTorch and the kernels can do here.

#include <vector>

#include "adagp/lab/doctor/check.h"

namespace adagp::doctor {

Check cpu_check();
Check cpu_training_check();
// Driver, CUDA, kernels and GPUs, with a small backward pass on each GPU.
std::vector<Check> gpu_checks();

}  // namespace adagp::doctor
