#include "adagp/sim/arrays/block_array.h"

#include "adagp/sim/accel/checked_math.h"

namespace adagp::arrays {

using accel::add;
using accel::ceil_div;
using accel::mul;

BlockCost block_array_cost(const accel::Work& work, const accel::Array& array,
                           const BlockFormat& f) {
  const auto& [m, k, n] = work.gemm;
  const int64_t h = array.rows, w = array.columns;
  const int64_t grouped = ceil_div(k, f.group);
  BlockCost out;
  accel::ArrayCost& cost = out.array;
  accel::SramWords& sram = cost.sram;
  cost.macs = accel::macs(work);
  out.cell_cycles = mul(mul(work.groups, m, n, grouped), f.left_chunks, f.right_chunks);
  int64_t rows = 0, columns = 0, fold = 0;
  switch (work.pass) {
    case accel::Pass::kForward:
      rows = ceil_div(n, h);
      columns = ceil_div(grouped, w);
      fold = mul(f.right_chunks, add(mul(m, f.left_chunks), 2 * h + w - 2));
      sram.ifmap = mul(work.groups, m, k, rows);
      sram.filter = mul(work.groups, k, n);
      sram.ofmap = mul(work.groups, m, n, columns);
      break;
    case accel::Pass::kInputGradient:
      if (f.regroup) {
        rows = ceil_div(n, h);
        columns = ceil_div(grouped, w);
        sram.ifmap = mul(work.groups, m, k, rows);
        sram.filter = mul(work.groups, k, n);
        sram.ofmap = mul(work.groups, m, n, columns);
      } else {
        const int64_t outputs = ceil_div(n, f.group);
        rows = ceil_div(k, h);
        columns = ceil_div(outputs, w);
        out.cell_cycles = mul(mul(work.groups, m, k, outputs), f.left_chunks, f.right_chunks);
        cost.filter_kept = true;
        sram.ifmap = mul(work.groups, m, k, columns);
        sram.ofmap = mul(work.groups, m, n, rows);
      }
      fold = mul(f.right_chunks, add(mul(m, f.left_chunks), (f.regroup ? 2 : 1) * h + w - 2));
      break;
    case accel::Pass::kWeightGradient:
      rows = ceil_div(n, h);
      columns = ceil_div(m, w);
      fold = add(mul(grouped, f.left_chunks, f.right_chunks), h + w - 2);
      sram.ifmap = mul(work.groups, m, k, rows);
      sram.filter = mul(work.groups, k, n, columns);
      sram.ofmap = mul(work.groups, m, n);
      break;
  }
  cost.folds = mul(work.groups, rows, columns);
  cost.stream = fold;
  cost.cycles = mul(cost.folds, fold);
  sram.sums = sram.ofmap - mul(work.groups, m, n);
  return out;
}

}  // namespace adagp::arrays
