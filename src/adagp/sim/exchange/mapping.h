#pragma once
// A loop nest laid over the array as a systolic dataflow does it: what is unrolled over rows and
// columns, and in which order the rest runs.

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

}  // namespace adagp::exchange
