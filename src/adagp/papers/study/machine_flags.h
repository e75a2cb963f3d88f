#pragma once
// Which flags of `simulate --machine` go together, and what a trace says in place of others.

#include <string>

#include "adagp/papers/study/machines.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/trace.h"

namespace adagp::study {

// Throws UsageError for operands that the machine does not look at, or lacks.
void check_flags(const arrays::Machine& machine, const MachineOptions& options);
// A trace knows its network: the run's own layer table, or the one of that name. A finished run
// knows its number of examples. Throws DataError for a trace of another network.
void take_network_of_trace(const std::string& run, const arrays::Trace& trace, Options& options);

}  // namespace adagp::study
