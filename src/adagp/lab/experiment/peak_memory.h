#pragma once
// What a piece of work needs of a machine's memory, and how fast that memory is.

#include <string>
#include <vector>

#include <torch/types.h>

namespace adagp::experiment {

// Peak resident bytes of this program with other arguments (its name first), which prints nothing.
// Started anew: a copy of this process would lack the threads that LibTorch has begun. Throws Error
// when it cannot be started or fails.
double peak_of_program(const std::vector<std::string>& arguments);

// "NVIDIA H200", "CPU, 2 threads".
std::string device_name(const at::Device& device);
// Bytes per second of a GPU's memory by its data sheet (clock times width); 0 when not known.
double memory_bandwidth(const at::Device& device);

}  // namespace adagp::experiment
