#pragma once
// The machine in rtl/ as an accelerator: a batch is the program that `adagp rtl program` writes,
// and its cycles are those of the cycle model, which equal the RTL's.

#include "adagp/sim/accel/design/design.h"
#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/network_program.h"

namespace adagp::accel {

bool is_rtl(const Accelerator& accelerator);
// Throws UsageError for `what`, which needs the formulas of a dataflow.
void refuse_rtl(const Accelerator& accelerator, const char* what);

// Throws UsageError for an array or memories that the machine cannot have.
rtl::Machine rtl_machine(const Accelerator& accelerator, const Design& design);

// The layers with weights. Throws UsageError naming a product of two activations.
rtl::Network rtl_network(const Plan& plan);

// Fills `out` for one batch. All cycles stand under `array`; energy: events times the table.
void rtl_batch(const Plan& plan, const Accelerator& accelerator, const Design& design,
               schedule::Phase phase, BatchCost& out);

// Events times the energies of the table (docs/hardware.md).
Energy rtl_energy(const rtl::Machine& machine, const rtl::Counts& counts,
                  const Accelerator& accelerator);

}  // namespace adagp::accel
