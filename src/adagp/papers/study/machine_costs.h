#pragma once
// What the layers of a network cost on a machine, with its trick and without.

#include <string>
#include <vector>

#include "adagp/papers/study/machines.h"
#include "adagp/sim/accel/cost.h"
#include "adagp/sim/arrays/given.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/trace.h"

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

// Which flags of `simulate --machine` go together, and what a trace says in place of others.

// Throws UsageError for operands that the machine does not look at, or lacks.
void check_flags(const arrays::Machine& machine, const MachineOptions& options);
// A trace knows its network: the run's own layer table, or the one of that name. A finished run
// knows its number of examples. Throws DataError for a trace of another network.
void take_network_of_trace(const std::string& run, const arrays::Trace& trace, Options& options);

}  // namespace adagp::study
