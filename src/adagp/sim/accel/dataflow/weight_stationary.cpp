// Weights stay in the array, inputs stream through it, partial sums leave at the bottom.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/systolic.h"

namespace adagp::accel {
namespace {

SystolicAxes ws_axes(const Work& work) {
  return {"K", "N", "M", work.gemm.k, work.gemm.n, work.gemm.m, true};
}

ArrayCost ws_cost(const Work& work, const Array& array) {
  const auto& [m, k, n] = work.gemm;
  const SystolicAxes axes = ws_axes(work);
  ArrayCost cost = systolic_cost(axes, work, array);
  cost.sram.ifmap = mul(work.groups, m, k, column_folds(axes, array));
  cost.sram.filter = mul(work.groups, k, n);
  cost.sram.ofmap = mul(work.groups, m, n, row_folds(axes, array));
  cost.sram.sums = returning_sums(work, cost.sram.ofmap);
  return cost;
}

std::string ws_text(const Work& work, const Array& array) {
  return systolic_text(ws_axes(work), work, array);
}

}  // namespace

const Dataflow kWeightStationary = {"ws", "weight stationary: rows K, columns N, stream M", ws_cost,
                                    ws_text, [](const Work&) {
                                      return MacAccesses{1, 0, 2};
                                    }};

}  // namespace adagp::accel
