#pragma once
// Training accelerators other than a plain systolic array. Each is compared with itself without its
// trick (`dense`), never with another machine. One file per machine, one line in registry.cpp.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adagp/accel/cost.h"
#include "adagp/accel/operands.h"
#include "adagp/layers/table.h"

namespace adagp::machine {

// One product of a layer.
struct Product {
  const layers::Row& row;
  const accel::Work& work;
  int64_t batch = 1;
};

// What of the operands a machine looks at.
enum class Reads { kNothing, kZeros, kWidths };

// Contract. All are pure functions. `dense` is the machine without its trick, `cost` with it; both
// lay the product over the machine in the same way, which the operands may decide. `predictor` is a
// product of ADA-GP's predictor, to whose operands no trick applies, on the whole machine or on the
// second one of design max (about 4/9 of its multipliers).
struct Machine {
  const char* name;
  const char* about;
  const char* preset;   // the accelerator it is simulated with where none is named
  const char* without;  // what `dense` is, in words
  Reads reads;
  std::vector<const char*> guesses;  // energies and rules without a published source
  accel::PassCost (*dense)(const Product& product, const accel::Operands& operands,
                           const accel::Accelerator& accelerator);
  accel::PassCost (*cost)(const Product& product, const accel::Operands& operands,
                          const accel::Accelerator& accelerator);
  accel::PassCost (*predictor)(const accel::Work& work, const accel::Accelerator& accelerator,
                               bool second);
};

extern const Machine kTensorDash;
extern const Machine kFast;
extern const Machine kProcrustes;
extern const Machine kCamel;
extern const Machine kInPlace;

std::span<const Machine* const> machines();
const Machine& find_machine(const std::string& name);  // UsageError with the nearest name

// How much of a word an operand or a result takes on the way to and from the buffer.
struct WordShares {
  double left = 1, right = 1, output = 1;
};

// A product that takes `cost`: stalls, DRAM words and energy. `mac_joules` is the energy of its
// multipliers.
accel::PassCost pass_cost(const accel::Work& work, const accel::ArrayCost& cost,
                          const accel::Accelerator& accelerator, double mac_joules,
                          const WordShares& shares = {});

}  // namespace adagp::machine
