#pragma once
// The traces of a run, their layers in the order of the network where the run has its layer table.

#include <string>
#include <vector>

#include "adagp/sim/arrays/trace.h"

namespace adagp::page {

// By epoch, at least one. Throws DataError as arrays::trace_files and arrays::read_trace.
std::vector<arrays::Trace> run_traces(const std::string& run);

}  // namespace adagp::page
