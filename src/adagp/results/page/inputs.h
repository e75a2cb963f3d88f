#pragma once
// What a report is about: runs, comparisons, results of the simulators. Everything that cannot be
// read is left out and named, as long as something remains.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/run_files.h"

namespace adagp::page {

// Runs of one network on one data set, which may be compared.
struct Group {
  std::string source;  // the folder that was given; "" for runs that were given one by one
  std::string model, data;
  std::vector<report::RunFiles> runs;
  std::optional<report::BudgetReport> budget;
};

// A file of `simulate --json` or `pipeline --json`.
struct Results {
  std::string source;
  std::vector<nlohmann::json> runs;
};

struct Inputs {
  std::vector<Group> groups;
  std::vector<Results> simulations, pipelines;
  std::vector<std::string> left_out;  // a sentence each

  bool unfinished() const;  // whether a run goes on, or was interrupted
};

// Each path is a run folder, a folder of run folders, or a JSON file. Throws DataError when nothing
// is left to report on, with what was wrong; UsageError for a path given twice.
Inputs read_inputs(const std::vector<std::string>& paths);

// One JSON file. Throws DataError when it is none of these.
enum class ResultKind { kSimulation, kPipeline };
ResultKind parse_results(std::string_view text, const std::string& name, Results& out);

}  // namespace adagp::page
