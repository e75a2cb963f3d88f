#pragma once
// A loop over independent items on a few threads. No torch here.

#include <cstdint>
#include <functional>

namespace adagp::data {

// Calls body(0) .. body(count - 1), each once, in any order. The first exception ends the loop and
// is thrown again in the caller. Throws Error when the threads cannot be started.
void parallel_over(int64_t count, int64_t threads, const std::function<void(int64_t)>& body);

}  // namespace adagp::data
