#pragma once
// Several threads that start together or not at all.

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace adagp::core {

// Starts `count` threads, each of which runs `body`. When one cannot be started, `stop` must make
// those that run return; they are joined, and Error says which thread it was and why.
std::vector<std::jthread> start_threads(int64_t count, const std::function<void()>& body,
                                        const std::function<void()>& stop);

}  // namespace adagp::core
