#include "adagp/results/page/page.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::page {
namespace {

using core::fs::path;
using report::RunFiles;

Group& group_for(Inputs& inputs, const std::string& source, const RunFiles& run) {
  for (Group& group : inputs.groups) {
    if (group.source == source && group.model == run.model() && group.data == run.data()) {
      return group;
    }
  }
  return inputs.groups.emplace_back(Group{source, run.model(), run.data(), {}, {}});
}

void add_run(Inputs& inputs, const std::string& source, const path& folder) {
  RunFiles run = report::read_run(folder);
  for (const std::string& note : run.notes) inputs.left_out.push_back(note);
  if (!run.finished() && run.config.empty() && run.metrics.epochs.empty()) {
    inputs.left_out.push_back(folder.string() + ": nothing of this run can be read");
    return;
  }
  Group& group = group_for(inputs, source, run);
  group.runs.push_back(std::move(run));
}

void add_folder(Inputs& inputs, const std::string& name) {
  if (report::is_run_folder(name)) return add_run(inputs, "", name);
  const auto folders = report::run_folders_in(name);
  if (folders.empty()) {
    throw DataError(name +
                    ": no run folder and none inside; expected what 'adagp train -o', 'adagp "
                    "compare -o' or Python's adagp.compare wrote");
  }
  for (const path& folder : folders) add_run(inputs, name, folder);
  const path budget = path(name) / "budget.json";
  std::error_code ignored;
  if (!core::fs::exists(budget, ignored)) return;
  for (Group& group : inputs.groups) {
    if (group.source != name || group.budget) continue;
    group.budget =
        report::read_budget(core::read_regular_file(budget, core::kMostJsonBytes), budget.string());
    return;  // a comparison has one network
  }
}

void add_path(Inputs& inputs, const std::string& name) {
  std::error_code error;
  const auto kind = core::fs::status(name, error).type();
  if (kind == core::fs::file_type::not_found) {
    throw DataError(name + ": no such file or folder");
  }
  if (kind == core::fs::file_type::directory) return add_folder(inputs, name);
  Results results;
  const ResultKind what =
      parse_results(core::read_regular_file(name, core::kMostJsonBytes), name, results);
  (what == ResultKind::kSimulation ? inputs.simulations : inputs.pipelines)
      .push_back(std::move(results));
}

}  // namespace

bool Inputs::unfinished() const {
  return std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return std::any_of(group.runs.begin(), group.runs.end(),
                       [](const RunFiles& run) { return !run.finished(); });
  });
}

ResultKind parse_results(std::string_view text, const std::string& name, Results& out) {
  const auto json = core::parse_json(text, name);
  out.source = name;
  for (const auto& run : json.is_array() ? json : nlohmann::json::array({json})) {
    if (run.is_object()) out.runs.push_back(run);
  }
  const auto all_have = [&](const char* key) {
    return !out.runs.empty() &&
           std::all_of(out.runs.begin(), out.runs.end(),
                       [&](const nlohmann::json& run) { return run.contains(key); });
  };
  if (all_have("makespan")) return ResultKind::kPipeline;
  if (all_have("dataflow")) return ResultKind::kSimulation;
  throw DataError(name +
                  ": neither 'adagp simulate --json' nor 'adagp pipeline --json' wrote this file");
}

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  std::set<path> seen;
  for (const std::string& name : paths) {
    std::error_code ignored;
    if (!seen.insert(core::fs::weakly_canonical(name, ignored)).second) {
      throw UsageError("report: '" + name + "' is given twice; expected each folder once");
    }
    try {
      add_path(inputs, name);
    } catch (const DataError& error) {
      inputs.left_out.emplace_back(error.what());
    }
  }
  if (inputs.groups.empty() && inputs.simulations.empty() && inputs.pipelines.empty()) {
    throw DataError(core::join(inputs.left_out, "\n"));
  }
  return inputs;
}

}  // namespace adagp::page
