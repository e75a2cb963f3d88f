#include "adagp/experiment/peak_memory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ATen/Parallel.h>

#include "adagp/core/text.h"
#include "adagp/cuda/types.h"

namespace adagp::experiment {

double peak_in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    try {
      work();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0) return 0;
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

std::string device_name(const at::Device& device) {
  if (device.is_cuda()) return cuda::device_name(device.has_index() ? device.index() : 0);
  const int threads = at::get_num_threads();
  return core::cat("CPU, ", threads, threads == 1 ? " thread" : " threads");
}

double memory_bandwidth(const at::Device& device) {
  return device.is_cuda() ? cuda::memory_bandwidth(device.has_index() ? device.index() : 0) : 0;
}

}  // namespace adagp::experiment
