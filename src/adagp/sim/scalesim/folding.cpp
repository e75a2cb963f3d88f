#include "adagp/sim/scalesim/folding.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::scalesim {

using accel::add;
using accel::ceil_div;
using accel::mul;

Folding fold_layer(const Config& config, const accel::Gemm& gemm) {
  Folding f;
  f.os = config.dataflow == "os";
  f.is = config.dataflow == "is";
  f.rows = config.rows;
  f.columns = config.columns;
  f.row_size = f.os ? gemm.m : gemm.k;
  f.column_size = f.is ? gemm.m : gemm.n;
  f.stream = f.os ? gemm.k : f.is ? gemm.n : gemm.m;
  f.row_folds = ceil_div(f.row_size, f.rows);
  f.column_folds = ceil_div(f.column_size, f.columns);
  f.last_rows = f.row_size - (f.row_folds - 1) * f.rows;
  f.first_rows = std::min(f.row_size, f.rows);
  f.last_columns = f.column_size - (f.column_folds - 1) * f.columns;
  f.fold_cycles = add(f.stream, (f.os ? 1 : 2) * f.rows + f.columns - 2);
  f.last_fold = mul(mul(f.row_folds, f.column_folds) - 1, f.fold_cycles);
  return f;
}

ResultStream results_of(const Folding& f) {
  ResultStream stream;
  stream.row_folds = f.row_folds;
  stream.column_folds = f.column_folds;
  stream.fold_cycles = f.fold_cycles;
  stream.columns = std::min(f.columns, f.column_size);
  stream.last_columns = f.last_columns;
  if (f.os) {
    stream.length = f.first_rows;
    stream.last_length = f.last_rows;
    stream.offset = f.stream - 1 + f.rows - f.first_rows;
    stream.last_offset = f.stream - 1 + f.rows - f.last_rows;
  } else {
    stream.length = stream.last_length = f.stream;
    stream.offset = stream.last_offset = 2 * f.rows - 1;
  }
  return stream;
}

}  // namespace adagp::scalesim
