#pragma once
// A finished run made again from its folder, and whether the result is the same.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/results/report/summary.h"

namespace adagp::experiment {

struct Rerun {
  core::fs::path before_folder, after_folder;
  report::Summary before, after;
  bool bytes_equal = false;  // of weights.safetensors
  // Between two weights, where both files have the same tensors and they differ.
  std::optional<double> largest_difference;
  // What is not as it was: versions, machine, data.
  std::vector<std::string> environment;
  bool exact = false;  // equal bytes are to be expected: a CPU and nothing differs

  bool as_expected() const { return bytes_equal || !exact; }
  std::string text() const;
  nlohmann::ordered_json to_json() const;
};

// Trains the run of `folder` again in `output`; an interrupted call goes on there. Warns about
// what differs before it starts. Throws DataError for a folder without a finished run, UsageError
// for one that several processes trained.
Rerun rerun(const core::fs::path& folder, const core::fs::path& output);

}  // namespace adagp::experiment
