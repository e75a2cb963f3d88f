#include "adagp/base/core/threads.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

int64_t hardware_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

void check_thread_count(const std::string& what, int64_t asked, const std::string& things) {
  constexpr int64_t kPerHardwareThread = 16;
  const int64_t here = hardware_threads(), most = kPerHardwareThread * here;
  if (asked <= most) return;
  throw UsageError(cat(what, " = ", asked, ": expected at most ", most, " ", things,
                       " on this machine, ", kPerHardwareThread, " for each of its ", here,
                       " hardware threads"));
}

std::vector<std::jthread> start_threads(int64_t count, const std::function<void()>& body,
                                        const std::function<void()>& stop) {
  std::vector<std::jthread> threads;
  std::string why;
  try {
    while (static_cast<int64_t>(threads.size()) < count) threads.emplace_back(body);
    return threads;
  } catch (const std::system_error& error) {
    why = error.code().message();
  } catch (const std::bad_alloc&) {
    why = "no memory is left";
  }
  stop();
  for (auto& thread : threads) thread.join();
  throw Error(cat("thread ", threads.size() + 1, " of ", count, " cannot be started: ", why,
                  "; ask for fewer threads (augment.workers, threads), or raise the system's limit "
                  "(ulimit -u, ulimit -v)"));
}

}  // namespace adagp::core
