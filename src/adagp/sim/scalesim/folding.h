#pragma once
// How a layer is laid over the array in folds, and when their results leave it.

#include <cstdint>

#include "adagp/sim/accel/work.h"
#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/write_buffer.h"

namespace adagp::scalesim {

inline constexpr int64_t kWordsPerKb = 1024;  // words are bytes

struct Folding {
  bool os = false, is = false;
  int64_t rows, columns;          // H, W
  int64_t row_size, column_size;  // what is laid over them
  int64_t stream;                 // what passes by
  int64_t row_folds, column_folds, last_rows, last_columns, first_rows;
  int64_t fold_cycles;
  int64_t last_fold;  // its first cycle
};

Folding fold_layer(const Config& config, const accel::Gemm& gemm);
ResultStream results_of(const Folding& folding);

}  // namespace adagp::scalesim
