#pragma once
// How many threads may be asked for, and several that start together or not at all.

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace adagp::core {

// Hardware threads of this machine; at least 1.
int64_t hardware_threads();

// UsageError where more than 16 threads or processes (`things`) are asked for per hardware thread:
// they only wait for each other, and a machine whose last process number is taken can start
// nothing. `what` is the flag or key.
void check_thread_count(const std::string& what, int64_t asked,
                        const std::string& things = "threads");

// Starts `count` threads, each of which runs `body`. When one cannot be started, `stop` must make
// those that run return; they are joined, and Error says which thread it was and why.
std::vector<std::jthread> start_threads(int64_t count, const std::function<void()>& body,
                                        const std::function<void()>& stop);

}  // namespace adagp::core
