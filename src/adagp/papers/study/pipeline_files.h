#pragma once
// What other programs read of a pipeline that was simulated.

#include <filesystem>

#include "adagp/papers/study/pipeline.h"

namespace adagp::study {

// The order of the passes in a BP batch, for PyTorch (pipeline/torch_schedule.h).
void save_schedule(const PipelineRun& run, const std::filesystem::path& file);

// A Chakra trace for each rank (pipeline/chakra.h) in pipeline.RANK.et, and in comm_groups.json
// which ranks take part in a collective. `unit` is that of the study. UsageError for too many
// ranks.
void save_chakra(const PipelineRun& run, const std::string& unit,
                 const std::filesystem::path& folder);

// What ran when, for chrome://tracing and Perfetto; a unit of time is shown as a microsecond.
void save_chrome(const PipelineRun& run, const std::filesystem::path& file);

// The run of a study that has one. UsageError naming the flag.
const PipelineRun& only_run(const PipelineStudy& study, const std::string& flag);

}  // namespace adagp::study
