#pragma once
// A loop nest laid over the array as a systolic dataflow does it: what is unrolled over rows and
// columns, and in which order the rest runs.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/exchange/loop_nest.h"

namespace adagp::exchange {

// Which part of the matrix product lies along the rows, lies along the columns, and streams:
// ws K, N, M; is K, M, N; os M, N, K (accel/dataflow/dataflow.h).
struct Axes {
  const std::vector<Loop>* rows;
  const std::vector<Loop>* columns;
  const std::vector<Loop>* stream;
};
// Throws UsageError for a dataflow that is not systolic.
Axes axes_of(const LoopNest& nest, const accel::Accelerator& accelerator);

struct Factor {
  Loop loop;
  int64_t size;
};

// The first loop along a side takes as much of it as it can, the next one what is left. The rest
// of each loop runs in time: innermost the stream, then the rest of rows and columns, groups last.
struct Mapping {
  std::vector<Factor> rows, columns, time;  // factors above 1 alone
};
Mapping map_nest(const LoopNest& nest, const accel::Accelerator& accelerator);

// Sizes of the accelerator for simulators that know no "unbounded": a 0 of the accelerator's file
// becomes a size that never binds.

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
