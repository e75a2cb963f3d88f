#include "adagp/engine/data/stream/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "adagp/base/core/threads.h"

namespace adagp::data {

void parallel_over(int64_t count, int64_t threads, const std::function<void(int64_t)>& body) {
  constexpr int64_t kChunk = 16;
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (int64_t begin; (begin = next.fetch_add(kChunk)) < count;) {
        for (int64_t i = begin; i < std::min(begin + kChunk, count); ++i) body(i);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const int64_t useful = std::min(threads, (count + kChunk - 1) / kChunk);
  auto others = core::start_threads(useful - 1, work, [&] { next = count; });
  work();
  others.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
}

}  // namespace adagp::data
