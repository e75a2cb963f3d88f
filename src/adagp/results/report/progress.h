#pragma once
// How far runs are that are not finished.

#include <vector>

#include "adagp/results/report/run_files.h"
#include "adagp/results/report/table.h"

namespace adagp::report {

// Seconds of training that are left, by the mean seconds of the epochs so far; NaN when nothing
// tells it.
double seconds_left(const RunFiles& run);

// A row for each unfinished run: epoch, last score, seconds, time left, age of its last record.
Table progress_table(const std::vector<RunFiles>& runs);

}  // namespace adagp::report
