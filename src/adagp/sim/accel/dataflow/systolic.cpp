#include "adagp/sim/accel/dataflow/systolic.h"

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {
namespace {

int64_t fold_cycles(const SystolicAxes& axes, const Array& array) {
  const int64_t load = axes.loads ? array.rows : 0;
  return add(axes.stream_size, load + array.rows + array.columns - 2);
}

// `left`, `right`, `result`: how often each of them passes between buffer and array.
ArrayCost with_words(const SystolicAxes& axes, const Work& work, const Array& array, int64_t left,
                     int64_t right, int64_t result) {
  const auto& [m, k, n] = work.gemm;
  ArrayCost cost = systolic_cost(axes, work, array);
  cost.sram.ifmap = mul(work.groups, m, k, left);
  cost.sram.filter = mul(work.groups, k, n, right);
  cost.sram.ofmap = mul(work.groups, m, n, result);
  cost.sram.sums = returning_sums(work, cost.sram.ofmap);
  return cost;
}

SystolicAxes ws_axes(const Work& work) {
  return {"K", "N", "M", work.gemm.k, work.gemm.n, work.gemm.m, true};
}
SystolicAxes is_axes(const Work& work) {
  return {"K", "M", "N", work.gemm.k, work.gemm.m, work.gemm.n, true};
}
SystolicAxes os_axes(const Work& work) {
  return {"M", "N", "K", work.gemm.m, work.gemm.n, work.gemm.k, false};
}

ArrayCost ws_cost(const Work& work, const Array& array) {
  const SystolicAxes axes = ws_axes(work);
  return with_words(axes, work, array, column_folds(axes, array), 1, row_folds(axes, array));
}
ArrayCost is_cost(const Work& work, const Array& array) {
  const SystolicAxes axes = is_axes(work);
  return with_words(axes, work, array, 1, column_folds(axes, array), row_folds(axes, array));
}
ArrayCost os_cost(const Work& work, const Array& array) {
  const SystolicAxes axes = os_axes(work);
  return with_words(axes, work, array, column_folds(axes, array), row_folds(axes, array), 1);
}

template <SystolicAxes (*kAxes)(const Work&)>
std::string text_of(const Work& work, const Array& array) {
  return systolic_text(kAxes(work), work, array);
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

// Weights stay in the array, inputs stream through it, partial sums leave at the bottom.
const Dataflow kWeightStationary = {"ws", "weight stationary: rows K, columns N, stream M", ws_cost,
                                    text_of<ws_axes>, [](const Work&) {
                                      return MacAccesses{1, 0, 2};
                                    }};

// Inputs stay in the array, weights stream through it, partial sums leave at the bottom.
const Dataflow kInputStationary = {"is", "input stationary: rows K, columns M, stream N", is_cost,
                                   text_of<is_axes>, [](const Work&) {
                                     return MacAccesses{1, 0, 2};
                                   }};

// Sums stay in the array, both operands stream through it. As in SCALE-Sim, results leave while the
// next fold begins, so no cycles are counted for that.
const Dataflow kOutputStationary = {"os", "output stationary: rows M, columns N, stream K", os_cost,
                                    text_of<os_axes>, [](const Work&) {
                                      return MacAccesses{1, 1, 2};
                                    }};

}  // namespace adagp::accel
