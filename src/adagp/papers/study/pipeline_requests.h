#pragma once
// Which pipelines a study has.

#include <vector>

#include "adagp/papers/study/pipeline.h"

namespace adagp::study {

constexpr size_t kMostRuns = 100'000;

// Every combination of schedules, stages and micro-batches, or the one of the schedule's file.
// Throws UsageError and, for the file, DataError.
std::vector<pipeline::Request> pipeline_requests(const PipelineOptions& options);

}  // namespace adagp::study
