#pragma once
// Time in tests. A limit in seconds may only end a hang; a promise about speed is measured in
// processor time, which other programs do not use up, beside a fixed piece of work, which is as
// slow as the machine and the build are.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace adagp::testing {

inline double processor_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// How many times longer than on a usual desktop machine a piece of work takes here; at least 1.
inline double slowness() {
  static const double factor = [] {
    const double taken = processor_seconds([] {
      std::map<std::string, size_t> words;
      for (size_t i = 0; i < 40000; ++i) words[std::to_string(i * 7919 % 65536)] += i;
    });
    constexpr double kUsual = 0.02;
    const char* told = std::getenv("ADAGP_TEST_SLOW");
    return std::max({1.0, taken / kUsual, told == nullptr ? 1.0 : std::atof(told)});
  }();
  return factor;
}

// Nothing that works takes so long.
inline std::chrono::duration<double> patience() {
  return std::chrono::minutes(10) * slowness();
}

// Asks again and again; false: patience() is over.
inline bool becomes_true(const std::function<bool()>& condition) {
  const auto begin = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - begin >= patience()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace adagp::testing
