#pragma once
// From a run's summary to what the tables take.

#include "adagp/results/report/compare.h"
#include "adagp/results/report/summary.h"

namespace adagp::experiment {

// `folder`: the run's.
report::RunRecord record_of(const report::Summary& summary, const core::fs::path& folder);
// What a finished run was trained on, "NVIDIA H200"; empty: not known.
std::string hardware_of(const core::fs::path& folder);
// "cpu, fp32, 30 epochs of batch 128": what runs of several networks have in common.
std::string about_training(const report::Summary& summary);

}  // namespace adagp::experiment
