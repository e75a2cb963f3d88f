#include "adagp/data/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

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
  std::vector<std::thread> others;
  const int64_t useful = std::min(threads, (count + kChunk - 1) / kChunk);
  for (int64_t i = 1; i < useful; ++i) others.emplace_back(work);
  work();
  for (auto& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace adagp::data
