#pragma once
// Whether a trace is one of a network.

#include "adagp/sim/arrays/trace.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

// Whether a row has operands that a trace can hold (convolutions of two axes and linear layers).
bool is_traced(const layers::Row& row);
// Throws DataError naming the layers when the trace is of another network or lacks layers.
void check_trace(const Trace& trace, const layers::Table& table);

}  // namespace adagp::arrays
