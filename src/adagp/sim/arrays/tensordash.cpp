// TensorDash: tiles of PEs with 16 multipliers, which skip pairs with a zero.
//   base cycles = sum over groups of vectors of lines * ceil(other vectors / (columns * tiles))
//   with zeros skipped the lines of a group become its scheduled cycles
#include <bit>
#include <cmath>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/pass_cost.h"
#include "adagp/sim/arrays/tensordash_schedule.h"
#include "adagp/sim/arrays/tensordash_streams.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;
using accel::mul;

int64_t base_cycles(const StreamClass& streams, const accel::TensorDashSizes& sizes) {
  return mul(mul(ceil_div(streams.vectors, sizes.rows), streams.lines),
             ceil_div(streams.other_vectors, sizes.columns * sizes.tiles), streams.repeats);
}

accel::PassCost tile_cost(const accel::Work& work, int64_t base, int64_t cycles,
                          const accel::Accelerator& a, const accel::TensorDashSizes& sizes,
                          bool left_sparse, double overhead) {
  accel::ArrayCost cost;
  cost.cycles = cycles;
  cost.macs = accel::macs(work);
  // Every line is read once, however fast it is used up; each tile reads its own.
  const int64_t sparse_words = mul(base, sizes.rows * kLanes, sizes.tiles);
  const int64_t other_words = mul(base, sizes.columns * kLanes, sizes.tiles);
  cost.sram.ifmap = left_sparse ? sparse_words : other_words;
  cost.sram.filter = left_sparse ? other_words : sparse_words;
  cost.sram.ofmap = mul(work.groups, work.gemm.m, work.gemm.n);
  const double share = base > 0 ? static_cast<double>(cycles) / static_cast<double>(base) : 1;
  const double joules = static_cast<double>(cost.macs) * a.energy.mac_pj * 1e-12;
  return pass_cost(work, cost, a, joules * share * (1 + overhead));
}

bool is_left_sparse(const accel::Operands& operands) {
  return operands.left.density <= operands.right.density;
}

// Scheduled cycles per line, one entry for each class of streams.
std::vector<double> scheduled_shares(const Product& product, const accel::Operand& sparse,
                                     bool left, const std::vector<StreamClass>& classes,
                                     const accel::TensorDashSizes& sizes) {
  std::vector<double> out;
  if (sparse.bits != nullptr) {
    for (const SampledCycles& one :
         sampled_cycles(product.row, product.work.pass, *sparse.bits, left, sizes)) {
      out.push_back(one.base > 0 ? static_cast<double>(one.cycles) / static_cast<double>(one.base)
                                 : 0);
    }
    return out;
  }
  for (const StreamClass& streams : classes) {
    const auto draw = [&] { return drawn_cycles_per_line(streams.lines, sparse.density, sizes); };
    out.push_back(product.draws == nullptr
                      ? draw()
                      : product.draws->get({static_cast<uint64_t>(streams.lines),
                                            std::bit_cast<uint64_t>(sparse.density)},
                                           draw));
  }
  return out;
}

accel::PassCost tensordash_cost(const Product& product, const accel::Operands& operands,
                                const accel::Accelerator& a) {
  const accel::TensorDashSizes& sizes = a.tensordash;
  const bool left = is_left_sparse(operands);
  const accel::Operand& sparse = left ? operands.left : operands.right;
  const auto classes = stream_classes(product.row, product.work, product.batch, left);
  const auto shares = scheduled_shares(product, sparse, left, classes, sizes);
  int64_t base = 0;
  double cycles = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t one = base_cycles(classes[i], sizes);
    base = accel::add(base, one);
    cycles += static_cast<double>(one) * shares[i];
  }
  return tile_cost(product.work, base, std::llround(cycles), a, sizes, left, sizes.overhead);
}

accel::PassCost tensordash_dense(const Product& product, const accel::Operands& operands,
                                 const accel::Accelerator& a) {
  const bool left = is_left_sparse(operands);
  int64_t base = 0;
  for (const StreamClass& streams :
       stream_classes(product.row, product.work, product.batch, left)) {
    base = accel::add(base, base_cycles(streams, a.tensordash));
  }
  return tile_cost(product.work, base, base, a, a.tensordash, left, 0);
}

accel::PassCost tensordash_predictor(const accel::Work& work, const accel::Accelerator& a,
                                     bool second) {
  accel::TensorDashSizes sizes = a.tensordash;
  if (second) sizes.tiles = std::max<int64_t>(1, (4 * sizes.tiles + 4) / 9);
  const accel::Gemm& g = work.gemm;
  const int64_t base = base_cycles({ceil_div(g.k, kLanes), g.m, g.n, work.groups}, sizes);
  return tile_cost(work, base, base, a, sizes, true, 0);
}

}  // namespace

const Machine kTensorDash = {
    "tensordash",
    "skips pairs with a zero: 16-lane PEs that look two lines ahead (MICRO 2020)",
    "tensordash",
    "the same tiles, every line takes a cycle",
    Reads::kZeros,
    true,
    false,
    {"energy of a MAC, of the buffer and of DRAM: our 45 nm table, not the paper's 65 nm",
     "3.2 % of the compute energy for the schedulers: from the published 1.95x time and 1.89x "
     "energy",
     "the order of the eight inputs is from memory of the paper (tensordash.order)"},
    tensordash_dense,
    tensordash_cost,
    tensordash_predictor};

}  // namespace adagp::arrays
