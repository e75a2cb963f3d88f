#include "adagp/sim/accel/dataflow/systolic.h"

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {
namespace {

int64_t fold_cycles(const SystolicAxes& axes, const Array& array) {
  const int64_t load = axes.loads ? array.rows : 0;
  return add(axes.stream_size, load + array.rows + array.columns - 2);
}

}  // namespace

int64_t row_folds(const SystolicAxes& axes, const Array& array) {
  return ceil_div(axes.row_size, array.rows);
}

int64_t column_folds(const SystolicAxes& axes, const Array& array) {
  return ceil_div(axes.column_size, array.columns);
}

ArrayCost systolic_cost(const SystolicAxes& axes, const Work& work, const Array& array) {
  ArrayCost cost;
  cost.folds = mul(work.groups, row_folds(axes, array), column_folds(axes, array));
  cost.stream = axes.stream_size;
  cost.cycles = mul(cost.folds, fold_cycles(axes, array));
  cost.macs = macs(work);
  return cost;
}

std::string systolic_text(const SystolicAxes& axes, const Work& work, const Array& array) {
  const std::string h = axes.loads ? "2H" : "H";
  const int64_t heights = (axes.loads ? 2 : 1) * array.rows;
  std::string symbols = core::cat("cycles = ceil(", axes.rows, "/H) * ceil(", axes.columns,
                                  "/W) * (", axes.stream, " + ", h, " + W - 2)");
  std::string numbers = core::cat("       = ceil(", axes.row_size, "/", array.rows, ") * ceil(",
                                  axes.column_size, "/", array.columns, ") * (", axes.stream_size,
                                  " + ", heights, " + ", array.columns, " - 2)");
  if (work.groups > 1) {
    symbols += " * groups";
    numbers += core::cat(" * ", work.groups);
  }
  const ArrayCost cost = systolic_cost(axes, work, array);
  return core::cat(symbols, "\n", numbers, "\n       = ", row_folds(axes, array), " * ",
                   column_folds(axes, array), " * ", fold_cycles(axes, array),
                   work.groups > 1 ? core::cat(" * ", work.groups) : "", " = ", cost.cycles, "\n");
}

int64_t returning_sums(const Work& work, int64_t writes) {
  return writes - mul(work.groups, work.gemm.m, work.gemm.n);
}

}  // namespace adagp::accel
