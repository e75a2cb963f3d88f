#include "adagp/lab/experiment/peak_memory.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <ATen/Parallel.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::experiment {

double peak_of_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = -1;
  const int failure =
      posix_spawn(&child, "/proc/self/exe", &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    throw Error(core::cat("its process cannot be started: ", std::strerror(failure)));
  }
  int status = 0;
  rusage usage{};
  pid_t ended = -1;
  do {
    ended = wait4(child, &status, 0, &usage);
  } while (ended < 0 && errno == EINTR);
  if (ended != child) throw Error(core::cat("its process was lost: ", std::strerror(errno)));
  if (WIFSIGNALED(status)) {
    throw Error(core::cat("its process was ended by signal ", WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    throw Error(core::cat("its process ended with exit code ", WEXITSTATUS(status)));
  }
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
