#pragma once
// Sizes of the accelerator for simulators that know no "unbounded": a 0 of the accelerator's file
// becomes a size that never binds.

#include <algorithm>
#include <cstdint>

#include "adagp/sim/accel/accelerator.h"

namespace adagp::exchange {

struct MachineSizes {
  int64_t word_bits;
  int64_t buffer_bytes, dram_bytes;
  int64_t buffer_words_per_cycle, dram_words_per_cycle;  // at least 1
};

inline MachineSizes machine_sizes(const accel::Accelerator& a) {
  constexpr int64_t kUnboundedBytes = int64_t{1} << 50;
  const int64_t unbounded_words = a.array.pes();  // a word for each PE in each cycle
  const auto words = [&](double bytes_per_cycle) {
    if (bytes_per_cycle == 0) return unbounded_words;
    const double whole = bytes_per_cycle / static_cast<double>(a.word_bytes);
    return std::max<int64_t>(1, static_cast<int64_t>(whole));
  };
  return {8 * a.word_bytes, a.buffer_bytes > 0 ? a.buffer_bytes : kUnboundedBytes, kUnboundedBytes,
          words(a.buffer_bytes_per_cycle), words(a.dram_bytes_per_cycle)};
}

}  // namespace adagp::exchange
