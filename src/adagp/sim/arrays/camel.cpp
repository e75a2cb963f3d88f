// CAMEL's array: the in-place array with PEs that take groups of nine values (58 bits: an exponent
// of 4 bits, nine signed mantissas of 6). Its point is the memory: see lifetimes.h. The cycles of
// products are the same with and without eDRAM; reversible training computes the forward pass of
// what it trains twice (study/machines.cpp).
#include "adagp/sim/arrays/block_array.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/pass_cost.h"

namespace adagp::arrays {
namespace {

constexpr int64_t kGroupOfNine = 9;
constexpr double kGroupBits = 58;

accel::PassCost camel_product(const accel::Work& work, const accel::Array& array,
                              const accel::Accelerator& a) {
  const BlockCost cost = block_array_cost(work, array, {kGroupOfNine, 1, 1, true});
  const double share = kGroupBits / kGroupOfNine / (8.0 * static_cast<double>(a.word_bytes));
  const double joules = static_cast<double>(cost.array.macs) * a.energy.mac_pj * 1e-12;
  return pass_cost(work, cost.array, a, joules, {share, share, share});
}

accel::PassCost camel_cost(const Product& product, const accel::Operands&,
                           const accel::Accelerator& a) {
  return camel_product(product.work, a.array, a);
}

accel::PassCost camel_predictor(const accel::Work& work, const accel::Accelerator& a, bool second) {
  return camel_product(work, second ? a.second_array() : a.array, a);
}

}  // namespace

const Machine kCamel = {
    "camel",
    "embedded DRAM for activations; reversible training shortens their lifetimes (HPCA 2024)",
    "camel",
    "the same array, activations wait for the backward pass",
    Reads::kNothing,
    false,
    true,
    {"edram.read_pj, write_pj, refresh_pj, leakage_mw: published ratios of eDRAM to SRAM (0.46 an "
     "access, 0.37 leakage, refresh = read + write) on our 45 nm buffer",
     "energy.mac_pj: of a 16-bit MAC, not of a 6-bit one",
     "which layers make a reversible block: edram.block_layers weight layers in a row; layers that "
     "change sizes keep their input",
     "which frozen tensor a trained layer reads: by its shape (arrays/lifetimes.h)"},
    camel_cost,
    camel_cost,
    camel_predictor};

}  // namespace adagp::arrays
