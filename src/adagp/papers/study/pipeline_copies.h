#pragma once
// What `adagp pipeline` prints of several copies of a pipeline.

#include <nlohmann/json_fwd.hpp>

#include "adagp/papers/study/pipeline.h"
#include "adagp/results/report/table.h"

namespace adagp::study {

extern const char* const kCopiesNote;  // what the columns mean

// `exact`: for programs.
std::vector<report::Column> copies_columns(bool exact);
std::vector<std::string> copies_cells(const PipelineRun& run, bool exact);
std::string copies_text(const PipelineRun& run);  // the same of one run, in words
nlohmann::ordered_json copies_json(const PipelineRun& run);

}  // namespace adagp::study
