#pragma once
// From a run's summary to what the tables take.

#include "adagp/report/compare.h"
#include "adagp/report/summary.h"

namespace adagp::experiment {

report::RunRecord record_of(const report::Summary& summary);
// "cpu, fp32, 30 epochs of batch 128": what runs of several networks have in common.
std::string about_training(const report::Summary& summary);

}  // namespace adagp::experiment
