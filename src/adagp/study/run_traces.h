#pragma once
// The traces of a run, their layers in the order of the network where the run has its layer table.

#include <string>
#include <vector>

#include "adagp/machine/trace.h"

namespace adagp::study {

// By epoch, at least one. Throws DataError as machine::trace_files and machine::read_trace.
std::vector<machine::Trace> run_traces(const std::string& run);

}  // namespace adagp::study
