// Procrustes: PEs that multiply only the weights that are not zero (procrustes_tiles.h).
#include <cmath>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/pass_cost.h"
#include "adagp/sim/arrays/procrustes_tiles.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;
using accel::mul;

// A layer as filters of channels x kernel over examples and output pixels; the gradients are laid
// out in the same way.
struct GridWork {
  int64_t filters, channels, kernel, examples, pixels;
  int64_t sharing;  // filters that read the same inputs: those of a group
  bool weight_gradient = false;
};

GridWork grid_work(const Product& product) {
  const layers::Row& row = product.row;
  const accel::Work& work = product.work;
  if (row.op == "matmul" ||
      row.op == "conv_transpose") {  // plain products, one group after another
    return {work.gemm.n, work.gemm.k, 1, work.gemm.m, work.groups, work.gemm.n};
  }
  const int64_t kernel = row.depth.kernel * row.kernel[0] * row.kernel[1];
  const bool reversed = work.pass == accel::Pass::kInputGradient;
  const int64_t filters = reversed ? row.input[0] : row.output[0];
  return {filters,
          (reversed ? row.output[0] : row.input[0]) / row.groups,
          kernel,
          product.batch,
          layers::pixels_out(row),
          filters / row.groups,
          work.pass == accel::Pass::kWeightGradient};
}

// Times a chip tile runs: for each group of examples (kn) or each example (ck), and each pixel.
int64_t repeats(const GridWork& grid, const accel::Array& array,
                const accel::ProcrustesMapping& mapping) {
  const bool kn = mapping.mapping == "kn";
  return mul(kn ? ceil_div(grid.examples, array.columns) : grid.examples, grid.pixels);
}

// Words between buffer and PEs. Each PE of mapping kn has filters of its row and the example of its
// column, each PE of mapping ck the channels of its row and the filter of its column. A word that
// several PEs need at a time is read once.
//        left operand               right operand                    result
//   kn   once a round of filters    W: once a group of examples      Y stays in the PEs
//                                   dY: once                         dW: once a group of examples
//   ck   once a group of filters    W: stays in the PEs              Y: once a group of channels
//                                   dY: once a round of channels     dW stays in the PEs
accel::SramWords buffer_words(const accel::Work& work, const GridWork& grid,
                              const accel::Array& array, const accel::ProcrustesMapping& mapping) {
  const int64_t result = work.tensors.output;
  accel::SramWords out;
  if (mapping.mapping == "kn") {
    const int64_t groups = ceil_div(grid.examples, array.columns);
    out.ifmap = mul(work.tensors.input, ceil_div(grid.sharing, array.rows));
    out.filter = mul(work.tensors.filter, grid.weight_gradient ? 1 : groups);
    out.ofmap = mul(result, grid.weight_gradient ? groups : 1);
  } else {
    const int64_t held = array.rows * ck_channels(grid.channels, grid.kernel, array, mapping);
    out.ifmap = mul(work.tensors.input, ceil_div(grid.sharing, array.columns));
    out.filter =
        mul(work.tensors.filter, grid.weight_gradient ? ceil_div(grid.channels, array.rows) : 1);
    out.ofmap = mul(result, grid.weight_gradient ? 1 : ceil_div(grid.channels, held));
  }
  out.sums = out.ofmap - result;
  return out;
}

accel::PassCost grid_cost(const accel::Work& work, const GridWork& grid, int64_t cycles,
                          double density, bool of_weights, const accel::Array& array,
                          const accel::Accelerator& a) {
  accel::ArrayCost cost;
  cost.cycles = cycles;
  cost.macs = accel::macs(work);
  cost.sram = buffer_words(work, grid, array, a.procrustes);
  const double joules = static_cast<double>(cost.macs) * density * a.energy.mac_pj * 1e-12;
  WordShares shares;
  if (of_weights && density < 1) {
    // A mask bit for each weight, and a pointer for each tile of as many weights as a PE holds.
    const double bits = 8.0 * static_cast<double>(a.word_bytes);
    shares.right = density + 1 / bits + 1 / static_cast<double>(a.procrustes.registers);
  }
  return pass_cost(work, cost, a, joules, shares);
}

WeightCycles cycles_of(const Product& product, const GridWork& grid,
                       const accel::Operands& operands, const accel::Accelerator& a) {
  if (product.work.pass == accel::Pass::kWeightGradient || product.row.op == "matmul") {
    WeightCycles out =
        drawn_weight_cycles(grid.filters, grid.channels, grid.kernel, 1, a.array, a.procrustes);
    out.sparse = out.dense;
    return out;
  }
  if (operands.right.bits != nullptr) {
    const bool reversed = product.work.pass == accel::Pass::kInputGradient;
    return weight_cycles(count_pairs(*operands.right.bits, product.row.groups, reversed), a.array,
                         a.procrustes);
  }
  return drawn_weight_cycles(grid.filters, grid.channels, grid.kernel, operands.right.density,
                             a.array, a.procrustes, product.draws);
}

accel::PassCost procrustes_pass(const Product& product, const accel::Operands& operands,
                                const accel::Accelerator& a, bool skips_zeros) {
  const GridWork grid = grid_work(product);
  const WeightCycles cycles = cycles_of(product, grid, operands, a);
  const int64_t times = repeats(grid, a.array, a.procrustes);
  const bool of_x = product.work.pass == accel::Pass::kWeightGradient;
  if (!skips_zeros) {
    return grid_cost(product.work, grid, mul(cycles.dense, times), 1, false, a.array, a);
  }
  const double density = of_x ? operands.left.density : operands.right.density;
  const int64_t dense = mul(cycles.dense, times);
  const int64_t taken =
      of_x ? std::llround(static_cast<double>(dense) * density) : mul(cycles.sparse, times);
  return grid_cost(product.work, grid, taken, density, !of_x, a.array, a);
}

accel::PassCost procrustes_cost(const Product& product, const accel::Operands& operands,
                                const accel::Accelerator& a) {
  return procrustes_pass(product, operands, a, true);
}

accel::PassCost procrustes_dense(const Product& product, const accel::Operands& operands,
                                 const accel::Accelerator& a) {
  return procrustes_pass(product, operands, a, false);
}

// The predictor's samples are its examples.
accel::PassCost procrustes_predictor(const accel::Work& work, const accel::Accelerator& a,
                                     bool second) {
  const accel::Array array = second ? a.second_array() : a.array;
  const accel::Gemm& g = work.gemm;
  const GridWork grid{g.n, g.k, 1, g.m, work.groups, g.n};
  const int64_t cycles =
      mul(mul(ceil_div(g.n, array.rows), ceil_div(g.m, array.columns)), g.k, work.groups);
  return grid_cost(work, grid, cycles, 1, false, array, a);
}

}  // namespace

const Machine kProcrustes = {
    "procrustes",
    "multiplies only weights that are not zero, tiles balanced by halves (MICRO 2020)",
    "procrustes",
    "the same PEs, every weight takes a cycle",
    Reads::kZeros,
    false,
    false,
    {"energies: our 45 nm table, not the paper's",
     "recomputing initial weights and the threshold unit are not modelled",
     "mapping kn: the sums of a PE stay in it until all channels are done; mapping ck: they leave "
     "with each group of channels",
     "in the weight gradient zeros of X are taken to be spread evenly over the PEs"},
    procrustes_dense,
    procrustes_cost,
    procrustes_predictor};

}  // namespace adagp::arrays
