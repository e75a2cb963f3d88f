#include "adagp/lab/experiment/list_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/lab/experiment/dry_run.h"
#include "adagp/lab/experiment/runs.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {
namespace {

RunState state_of(const Job& job, const task::Task& task, const RunListOptions& options) {
  const core::fs::path folder = options.folder / job.folder;
  if (options.overwrite || !core::fs::exists(folder / "config.toml")) return RunState::kOpen;
  if (options.keep_diverged && core::fs::exists(folder / "diverged.txt")) {
    return RunState::kDiverged;
  }
  if (!job.seconds_of) {  // else its length is in the file alone
    config::RunConfig config = job.config;
    task.resolve(config);
    const auto keys = run::differing_keys(config, run::read_config(folder));
    if (!keys.empty()) {
      throw UsageError(core::cat(folder.string(), ": holds a run with other settings (",
                                 core::join(keys, ", "),
                                 "); choose another folder, or start anew with --overwrite"));
    }
  }
  return is_finished(folder, options.overwrite) ? RunState::kFinished : RunState::kOpen;
}

PlannedTime measure(config::RunConfig config) {
  config.method = "bp";
  const DryRun run = dry_run(config);
  return {0, run.bp_seconds * static_cast<double>(run.batches_per_epoch), run.batch, run.device};
}

}  // namespace

ListPlan plan_list(const std::vector<Job>& jobs, TaskCache& tasks, const RunListOptions& options) {
  std::map<std::string, RunForecast> known;  // by seedless()
  std::map<std::string, size_t> places;      // by folder
  std::vector<double> epoch_macs;
  const Job* first = nullptr;  // that is open
  bool one_network = true;
  ListPlan plan;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    places[job.folder] = i;
    const task::TaskPtr task = tasks.open(job.config);
    PlannedRun& run = plan.runs.emplace_back(PlannedRun{job.what, {}, 0, {}});
    run.state = state_of(job, *task, options);
    if (job.seconds_of) {
      const size_t other = places.at(job.seconds_of->other);
      run.as_long_as = jobs[other].what;
      run.cost = plan.runs[other].cost;
      epoch_macs.push_back(epoch_macs[other]);
    } else {
      const auto [forecast, is_new] = known.try_emplace(seedless(job.config));
      if (is_new) forecast->second = forecast_run(job.config, task);
      run.cost = forecast->second.cost_epochs;
      epoch_macs.push_back(forecast->second.epoch_macs);
    }
    if (run.state != RunState::kOpen) continue;
    if (first == nullptr) first = &job;
    one_network =
        one_network && job.config.model.name == first->config.model.name && std::isfinite(run.cost);
  }
  if (first == nullptr || !one_network) return plan;
  // Exact steps of a network take as long as their multiplications, near enough.
  plan.time = measure(first->config);
  const double macs_second = epoch_macs[places.at(first->folder)] / plan.time->epoch_seconds;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (plan.runs[i].state != RunState::kOpen) continue;
    plan.time->seconds += plan.runs[i].cost * epoch_macs[i] / macs_second;
  }
  return plan;
}

size_t ListPlan::open() const {
  return static_cast<size_t>(std::count_if(runs.begin(), runs.end(), [](const PlannedRun& run) {
    return run.state == RunState::kOpen;
  }));
}

double ListPlan::cost() const {
  double sum = 0;
  for (const PlannedRun& run : runs) {
    if (run.state == RunState::kOpen && std::isfinite(run.cost)) sum += run.cost;
  }
  return sum;
}

std::string ListPlan::text() const {
  report::Table table(report::titled({"<run", "epochs of backprop"}));
  size_t uncounted = 0;
  for (const PlannedRun& run : runs) {
    std::string cell = report::number_or_dash(run.cost, 2);
    if (!run.as_long_as.empty()) cell = "as long as " + run.as_long_as;
    if (run.state == RunState::kFinished) cell = "finished";
    if (run.state == RunState::kDiverged) cell = "diverged";
    if (run.state == RunState::kOpen && !std::isfinite(run.cost)) ++uncounted;
    table.add_row({run.what, cell});
  }
  std::string out = core::cat(table.console(), "\n", to_do(open(), runs.size(), cost()));
  if (uncounted > 0) out += core::cat(", without ", uncounted, " whose cost cannot be counted");
  if (time) {
    out += core::cat(": about ", core::human_seconds(time->seconds), " on ", time->device, " (",
                     core::human_seconds(time->epoch_seconds),
                     " an epoch of backprop in batches of ", time->batch, "), without evaluation");
  }
  return out;
}

nlohmann::json ListPlan::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannedRun& run : runs) {
    nlohmann::json one{{"run", run.what}, {"state", "open"}, {"cost_epochs", nullptr}};
    if (run.state == RunState::kFinished) one["state"] = "finished";
    if (run.state == RunState::kDiverged) one["state"] = "diverged";
    if (std::isfinite(run.cost)) one["cost_epochs"] = run.cost;
    if (!run.as_long_as.empty()) one["as_long_as"] = run.as_long_as;
    list.push_back(std::move(one));
  }
  nlohmann::json out{
      {"runs", list}, {"open", open()}, {"cost_epochs", cost()}, {"total_seconds", nullptr}};
  if (time) {
    out["total_seconds"] = time->seconds;
    out["epoch_seconds"] = time->epoch_seconds;
    out["batch"] = time->batch;
    out["device"] = time->device;
  }
  return out;
}

}  // namespace adagp::experiment
