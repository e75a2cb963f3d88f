#pragma once
// The systolic dataflows ws, is and os, and what in-place shares with them: folds of the array,
// each with a stream and a fixed overhead.

#include <string>

#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {

// Which of M, K, N lies along the rows, along the columns, and streams.
struct SystolicAxes {
  const char* rows;
  const char* columns;
  const char* stream;
  int64_t row_size, column_size, stream_size;
  bool loads;  // the stationary operand enters first, H cycles
};

// cycles = groups * ceil(rows/H) * ceil(columns/W) * (stream + [H if loads] + H + W - 2). Words are
// the caller's.
ArrayCost systolic_cost(const SystolicAxes& axes, const Work& work, const Array& array);
std::string systolic_text(const SystolicAxes& axes, const Work& work, const Array& array);

// Times a dimension is cut to fit a side of the array.
int64_t row_folds(const SystolicAxes& axes, const Array& array);
int64_t column_folds(const SystolicAxes& axes, const Array& array);

// Reads of partial sums that come back: one per write but the first of each result.
int64_t returning_sums(const Work& work, int64_t writes);

}  // namespace adagp::accel
