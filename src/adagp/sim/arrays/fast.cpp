#include "adagp/sim/arrays/fast.h"

#include <algorithm>
#include <cmath>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/block_array.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/pass_cost.h"

namespace adagp::arrays {
namespace {

constexpr double kSumBits = 32;  // results leave as fp32

int width_of(const accel::Operand& operand) {
  return operand.mantissa == 0 ? kFastDense : operand.mantissa;
}

accel::PassCost fast_product(const accel::Work& work, int left, int right,
                             const accel::Array& array, const accel::Accelerator& a) {
  const BlockFormat format{kFastGroup, chunks_of(left), chunks_of(right), a.fast.regroup};
  const BlockCost cost = block_array_cost(work, array, format);
  const double word_bits = 8.0 * static_cast<double>(a.word_bytes);
  const WordShares shares{stored_bits(left, a.fast) / word_bits,
                          stored_bits(right, a.fast) / word_bits, kSumBits / word_bits};
  const double joules = static_cast<double>(cost.cell_cycles) * a.fast.fmac_pj * 1e-12;
  return pass_cost(work, cost.array, a, joules, shares);
}

accel::PassCost fast_cost(const Product& product, const accel::Operands& operands,
                          const accel::Accelerator& a) {
  return fast_product(product.work, width_of(operands.left), width_of(operands.right), a.array, a);
}

accel::PassCost fast_dense(const Product& product, const accel::Operands&,
                           const accel::Accelerator& a) {
  return fast_product(product.work, kFastDense, kFastDense, a.array, a);
}

accel::PassCost fast_predictor(const accel::Work& work, const accel::Accelerator& a, bool second) {
  return fast_product(work, kFastDense, kFastDense, second ? a.second_array() : a.array, a);
}

// bf16 MACs, one product a cycle, on the in-place array of the same area.
accel::PassCost bf16_product(const Product& product, const accel::Operands&,
                             const accel::Accelerator& a) {
  accel::Array array = a.array;
  const double columns = static_cast<double>(array.columns) / a.fast.mac_area;
  array.columns = std::max<int64_t>(1, std::llround(columns));
  const BlockCost cost = block_array_cost(product.work, array, {1, 1, 1, false});
  const double joules = static_cast<double>(cost.array.macs) * a.energy.mac_pj * 1e-12;
  return pass_cost(product.work, cost.array, a, joules);
}

}  // namespace

int64_t chunks_of(int mantissa) {
  if (mantissa < kLeastMantissa || mantissa > kMostMantissaBits) {
    throw DataError(core::cat("machine fast: a mantissa of ", mantissa,
                              " bits is not modelled, expected ", kLeastMantissa, " to ",
                              kMostMantissaBits));
  }
  return (mantissa + 1) / 2;
}

double stored_bits(int mantissa, const accel::FastFormat& format) {
  return (static_cast<double>(format.exponent_bits) +
          static_cast<double>(kFastGroup * chunks_of(mantissa) * 3)) /
         kFastGroup;
}

const Machine kFast = {
    "fast",
    "block floating point with 2-bit chunks, a width for each tensor (HPCA 2022)",
    "fast",
    "the same cells, all mantissas of 4 bits",
    Reads::kWidths,
    false,
    false,
    {"fast.fmac_pj: no published energy of a cell was found",
     "array of 256x64 cells at 500 MHz and exponents of 3 bits: from memory of the paper",
     "equal area: a cell of 16 two-bit multipliers and a bf16 MAC have 64 one-bit products and one "
     "fp32 sum each, so their areas are taken to be equal (fast.mac_area)",
     "conversion to groups costs no cycles"},
    fast_dense,
    fast_cost,
    fast_predictor,
    bf16_product,
    "bf16 MACs on an array of the same area, a MAC as large as a cell times fast.mac_area"};

}  // namespace adagp::arrays
