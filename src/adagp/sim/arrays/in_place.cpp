// The in-place transposed array against one of the same size and layout that has to turn its
// operands (accel/memory.h) and loads W again for the input gradient.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/memory.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::arrays {
namespace {

accel::PassCost in_place_product(const Product& product, const accel::Operands& operands,
                                 const accel::Accelerator& a) {
  return accel::product_cost(product.work, a.array, accel::kInPlaceTransposed, a, operands);
}

accel::PassCost turned_product(const Product& product, const accel::Operands&,
                               const accel::Accelerator& a) {
  accel::Operands nothing_kept;
  nothing_kept.kept_folds = 0;
  accel::PassCost out = in_place_product(product, nothing_kept, a);
  accel::ArrayCost cost;
  cost.cycles = out.array;
  const accel::Transposition turned =
      accel::transposition(product.work, cost, accel::kWeightStationary, a);
  out.stall = accel::add(out.stall, turned.cycles);
  out.energy.buffer += turned.energy;
  return out;
}

accel::PassCost in_place_predictor(const accel::Work& work, const accel::Accelerator& a,
                                   bool second) {
  return accel::product_cost(work, second ? a.second_array() : a.array, accel::kInPlaceTransposed,
                             a);
}

}  // namespace

const Machine kInPlace = {
    "in-place",
    "W stays for all three products, nothing is transposed (the array of FAST)",
    "in-place",
    "the same array, W loaded again for the input gradient, W and X transposed (key transpose)",
    Reads::kNothing,
    false,
    false,
    {"energy.hop_pj: no published energy of a hop was found"},
    turned_product,
    in_place_product,
    in_place_predictor};

}  // namespace adagp::arrays
