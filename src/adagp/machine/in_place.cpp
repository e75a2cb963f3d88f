// The in-place transposed array against a weight-stationary one of the same size that has to turn
// its operands (accel/transposition.h).
#include "adagp/machine/machine.h"

namespace adagp::machine {
namespace {

accel::PassCost in_place_product(const Product& product, const accel::Operands& operands,
                                 const accel::Accelerator& a) {
  return accel::product_cost(product.work, a.array, accel::kInPlaceTransposed, a, operands);
}

accel::PassCost turned_product(const Product& product, const accel::Operands&,
                               const accel::Accelerator& a) {
  return accel::product_cost(product.work, a.array, accel::kWeightStationary, a);
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
    "a weight-stationary array of the same size that transposes W and X (transpose, "
    "array.weight_registers)",
    Reads::kNothing,
    {"energy.hop_pj: no published energy of a hop was found"},
    turned_product,
    in_place_product,
    in_place_predictor};

}  // namespace adagp::machine
