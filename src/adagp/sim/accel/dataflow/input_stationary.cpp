// Inputs stay in the array, weights stream through it, partial sums leave at the bottom.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/systolic.h"

namespace adagp::accel {
namespace {

SystolicAxes is_axes(const Work& work) {
  return {"K", "M", "N", work.gemm.k, work.gemm.m, work.gemm.n, true};
}

ArrayCost is_cost(const Work& work, const Array& array) {
  const auto& [m, k, n] = work.gemm;
  const SystolicAxes axes = is_axes(work);
  ArrayCost cost = systolic_cost(axes, work, array);
  cost.sram.ifmap = mul(work.groups, m, k);
  cost.sram.filter = mul(work.groups, k, n, column_folds(axes, array));
  cost.sram.ofmap = mul(work.groups, m, n, row_folds(axes, array));
  cost.sram.sums = returning_sums(work, cost.sram.ofmap);
  return cost;
}

std::string is_text(const Work& work, const Array& array) {
  return systolic_text(is_axes(work), work, array);
}

}  // namespace

const Dataflow kInputStationary = {"is", "input stationary: rows K, columns M, stream N", is_cost,
                                   is_text, [](const Work&) {
                                     return MacAccesses{1, 0, 2};
                                   }};

}  // namespace adagp::accel
