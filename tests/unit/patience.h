#pragma once
// Time in tests: a limit in seconds may only end a hang. Speed is measured in bench/.

#include <chrono>
#include <functional>
#include <thread>

namespace adagp::testing {

// Many times what anything takes that works, on a slow and busy machine, too. Less than the 15
// minutes of ctest, so that a hang says in which test.
inline constexpr std::chrono::minutes kPatience{13};

// Asks again and again; false: kPatience is over.
inline bool becomes_true(const std::function<bool()>& condition) {
  const auto begin = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - begin >= kPatience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace adagp::testing
