// Sums stay in the array, both operands stream through it. As in SCALE-Sim, results leave while the
// next fold begins, so no cycles are counted for that.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/systolic.h"

namespace adagp::accel {
namespace {

SystolicAxes os_axes(const Work& work) {
  return {"M", "N", "K", work.gemm.m, work.gemm.n, work.gemm.k, false};
}

ArrayCost os_cost(const Work& work, const Array& array) {
  const auto& [m, k, n] = work.gemm;
  const SystolicAxes axes = os_axes(work);
  ArrayCost cost = systolic_cost(axes, work, array);
  cost.sram.ifmap = mul(work.groups, m, k, column_folds(axes, array));
  cost.sram.filter = mul(work.groups, k, n, row_folds(axes, array));
  cost.sram.ofmap = mul(work.groups, m, n);
  return cost;
}

std::string os_text(const Work& work, const Array& array) {
  return systolic_text(os_axes(work), work, array);
}

}  // namespace

const Dataflow kOutputStationary = {"os", "output stationary: rows M, columns N, stream K", os_cost,
                                    os_text, [](const Work&) {
                                      return MacAccesses{1, 1, 2};
                                    }};

}  // namespace adagp::accel
