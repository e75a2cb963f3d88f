#pragma once
// From a run's summary to what the tables take.

#include "adagp/results/report/compare.h"
#include "adagp/results/report/summary.h"

namespace adagp::experiment {

report::RunRecord record_of(const report::Summary& summary);
// "cpu, fp32, 30 epochs of batch 128": what runs of several networks have in common.
std::string about_training(const report::Summary& summary);

}  // namespace adagp::experiment
