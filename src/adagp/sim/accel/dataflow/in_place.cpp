// One array for all three products of a layer, nothing transposed in memory: PE (n, k) belongs to
// weight W[k][n]. Forward: X enters at the bottom, sums move right. Input gradient: the weights are
// still there, dY enters at the left, sums move up. Weight gradient: X from the bottom and dY from
// the left meet in accumulators that stay. Only the forward pass pays for loading the weights.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/systolic.h"

namespace adagp::accel {
namespace {

// The layer's N lies along the rows, its K along the columns. The letters are those of the pass's
// own product, whose M, K, N are the layer's M, K, N; M, N, K; and K, M, N.
SystolicAxes in_place_axes(const Work& work) {
  const Gemm& g = work.gemm;
  switch (work.pass) {
    case Pass::kForward:
      return {"N", "K", "M", g.n, g.k, g.m, true};
    case Pass::kInputGradient:
      return {"K", "N", "M", g.k, g.n, g.m, false};
    case Pass::kWeightGradient:
      break;
  }
  return {"N", "M", "K", g.n, g.m, g.k, false};
}

ArrayCost in_place_cost(const Work& work, const Array& array) {
  const auto& [m, k, n] = work.gemm;
  const SystolicAxes axes = in_place_axes(work);
  const int64_t rows = row_folds(axes, array);
  const int64_t columns = column_folds(axes, array);
  ArrayCost cost = systolic_cost(axes, work, array);
  SramWords& sram = cost.sram;
  switch (work.pass) {
    case Pass::kForward:  // sums over K, which lies along the columns
      sram.ifmap = mul(work.groups, m, k, rows);
      sram.filter = mul(work.groups, k, n);
      sram.ofmap = mul(work.groups, m, n, columns);
      break;
    case Pass::kInputGradient:  // dY [m, k] passes; W was read by the forward pass
      sram.ifmap = mul(work.groups, m, k, columns);
      cost.filter_kept = true;
      sram.ofmap = mul(work.groups, m, n, rows);
      break;
    case Pass::kWeightGradient:
      sram.ifmap = mul(work.groups, m, k, rows);
      sram.filter = mul(work.groups, k, n, columns);
      sram.ofmap = mul(work.groups, m, n);
      break;
  }
  sram.sums = returning_sums(work, sram.ofmap);
  return cost;
}

std::string in_place_text(const Work& work, const Array& array) {
  return systolic_text(in_place_axes(work), work, array);
}

MacAccesses in_place_accesses(const Work& work) {
  return work.pass == Pass::kWeightGradient ? MacAccesses{1, 1, 2} : MacAccesses{1, 0, 2};
}

}  // namespace

const Dataflow kInPlaceTransposed = {
    "in-place", "in-place transposed: rows N, columns K, weights loaded once per batch",
    in_place_cost, in_place_text, in_place_accesses};

}  // namespace adagp::accel
