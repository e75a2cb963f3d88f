#pragma once
// What a piece of work needs of a machine's memory, and how fast that memory is.

#include <functional>
#include <string>

#include <torch/types.h>

namespace adagp::experiment {

// Peak resident bytes of a process that does `work` and nothing else. Call it before this process
// has started threads. 0 when it cannot be known.
double peak_in_child(const std::function<void()>& work);

// "NVIDIA H200", "CPU, 2 threads".
std::string device_name(const at::Device& device);
// Bytes per second of a GPU's memory by its data sheet (clock times width); 0 when not known.
double memory_bandwidth(const at::Device& device);

}  // namespace adagp::experiment
