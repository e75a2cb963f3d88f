#include "adagp/teams/comm/backend.h"

#include <future>
#include <utility>

namespace adagp::comm {

void GpuBackends::abort_all() noexcept {
  if (std::exchange(aborted_, true)) return;
  try {
    std::vector<std::future<void>> ends;  // their destructors wait, and drop what was thrown
    for (const auto& known : all_) {
      const BackendPtr backend = known.lock();
      if (!backend) continue;
      ends.push_back(std::async(std::launch::async, [backend] { backend->abort(); }));
    }
  } catch (...) {  // no thread to be had: the error that led here says more
  }
}

}  // namespace adagp::comm
