#pragma once
// Training accelerators other than a plain systolic array. Each is compared with itself without its
// trick (`dense`), never with another machine. One file per machine, one word in ADAGP_MACHINES.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adagp/sim/accel/cost.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/arrays/draws.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

// One product of a layer.
struct Product {
  const layers::Row& row;
  const accel::Work& work;
  int64_t batch = 1;
  Draws* draws = nullptr;  // shared by the products of one evaluation; none: drawn anew
};

// What of the operands a machine looks at. kShares: shares of whole examples or channels that a
// method leaves out, which no trace records.
enum class Reads { kNothing, kZeros, kWidths, kShares };

// Contract. All are pure functions (`draws` saves time and changes nothing). `dense` is the machine
// without its trick, `cost` with it; both lay the product over the machine in the same way, which
// the operands may decide. `predictor` is a product of ADA-GP's predictor, to whose operands no
// trick applies, on the whole machine or on the second one of design max (about 4/9 of its
// multipliers).
struct Machine {
  const char* name;
  const char* about;
  const char* preset;   // the accelerator it is simulated with where none is named
  const char* without;  // what `dense` is, in words
  Reads reads;
  bool samples_examples;  // with a trace, cycles come from its examples and vary among them
  bool reversible;        // the trick is about memory: forward passes are computed again
  std::vector<const char*> guesses;  // energies and rules without a published source
  accel::PassCost (*dense)(const Product& product, const accel::Operands& operands,
                           const accel::Accelerator& accelerator);
  accel::PassCost (*cost)(const Product& product, const accel::Operands& operands,
                          const accel::Accelerator& accelerator);
  accel::PassCost (*predictor)(const accel::Work& work, const accel::Accelerator& accelerator,
                               bool second);
  // Optional: the product on an array of plain MACs in the area of the machine. It is shown beside
  // the comparison with `dense`, because the published one is of this kind.
  accel::PassCost (*equal_area)(const Product& product, const accel::Operands& operands,
                                const accel::Accelerator& accelerator) = nullptr;
  const char* equal_area_about = "";  // which MACs, and what is assumed of the areas
};

// A new machine is a file that defines it, and its name here.
#define ADAGP_MACHINES(entry)                                                      \
  entry(kTensorDash) entry(kFast) entry(kProcrustes) entry(kCamel) entry(kInPlace) \
      entry(kSampledExamples) entry(kSampledChannels)

#define ADAGP_DECLARE(name) extern const Machine name;
ADAGP_MACHINES(ADAGP_DECLARE)
#undef ADAGP_DECLARE

std::span<const Machine* const> machines();
const Machine& find_machine(const std::string& name);  // UsageError with the nearest name

}  // namespace adagp::arrays
