#pragma once
// One HTML file that shows runs, comparisons and results of the simulators: no request leaves it,
// and without its script everything is still there to read and to print.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/run_files.h"

namespace adagp::page {

// What a report is about: runs, comparisons, results of the simulators. Everything that cannot be
// read is left out and named, as long as something remains.

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

struct PageOptions {
  std::string title = "adagp report";
  std::string command;     // what makes this page, for its last section
  int reload_seconds = 0;  // 0: the page is final
};

// Equal inputs give equal bytes. Names from files are text in it and nothing else.
std::string make_page(const Inputs& inputs, const PageOptions& options);

}  // namespace adagp::page
