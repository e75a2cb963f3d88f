#pragma once
// What the layers of a network cost on a machine, with its trick and without.

#include <vector>

#include "adagp/sim/accel/cost.h"
#include "adagp/sim/arrays/given.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::study {

struct MachineCosts {
  std::vector<accel::LayerCost> base, ours;
  std::vector<accel::LayerCost> equal_area;  // empty where the machine has none
};

// `operands`: one entry for each row of the table, from which the plan was made.
MachineCosts machine_costs(const arrays::Machine& machine, const accel::Accelerator& accelerator,
                           const layers::Table& table, const accel::Plan& plan,
                           const std::vector<arrays::LayerOperands>& operands);

// A mean over epochs: their sum, then divided by their number. Only the products differ.
void accumulate(MachineCosts& sum, const MachineCosts& more);
void divide(MachineCosts& sum, int64_t count);

}  // namespace adagp::study
