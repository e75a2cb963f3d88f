#include "adagp/lab/experiment/list_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/base/core/text.h"
#include "adagp/lab/experiment/dry_run.h"
#include "adagp/lab/experiment/runs.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {
namespace {

double cost_of(const std::string& folder, const std::vector<Job>& jobs,
               const std::vector<PlannedRun>& runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (jobs[i].folder == folder) return runs[i].cost;
  }
  return std::nan("");
}

void measure(ListPlan& plan, config::RunConfig config) {
  config.method = "bp";
  const DryRun run = dry_run(config);
  plan.epoch_seconds = run.bp_seconds * static_cast<double>(run.batches_per_epoch);
  plan.batch = run.batch;
  plan.device = run.device;
}

}  // namespace

ListPlan plan_list(const std::vector<Job>& jobs, TaskCache& tasks, const RunListOptions& options) {
  std::map<std::string, double> known;  // by seedless()
  ListPlan plan;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    PlannedRun& run = plan.runs.emplace_back(PlannedRun{job.what, 0, false, {}});
    run.finished = is_finished(options.folder / job.folder, options.overwrite);
    if (job.seconds_of) {
      run.as_long_as = job.seconds_of->other;
      run.cost = cost_of(run.as_long_as, jobs, plan.runs);
    } else {
      const auto [cost, is_new] = known.try_emplace(seedless(job.config));
      if (is_new) cost->second = forecast_run(job.config, tasks.open(job.config)).cost_epochs;
      run.cost = cost->second;
    }
    if (!run.finished && std::isfinite(run.cost)) plan.cost += run.cost;
  }
  const Job* first = nullptr;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (plan.runs[i].finished) continue;
    if (first == nullptr) first = &jobs[i];
    if (jobs[i].config.model.name != first->config.model.name) return plan;
  }
  if (first != nullptr) measure(plan, first->config);
  return plan;
}

size_t ListPlan::open() const {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const PlannedRun& run) { return !run.finished; }));
}

std::string ListPlan::text() const {
  report::Table table(report::titled({"<run", "epochs of backprop"}));
  for (const PlannedRun& run : runs) {
    table.add_row({run.what, run.finished             ? "finished"
                             : run.as_long_as.empty() ? report::number_or_dash(run.cost, 2)
                                                      : "as long as " + run.as_long_as});
  }
  const std::string head =
      core::cat(table.console(), "\n", open(), " of ", runs.size(), " runs to do");
  if (open() == 0) return head;
  const std::string costs =
      core::cat(head, ", which cost about ", core::fixed(cost, 0), " epochs of plain backprop");
  if (epoch_seconds == 0) return costs + " of their networks";
  return core::cat(costs, ": about ", core::human_seconds(cost * epoch_seconds), " on ", device,
                   " (", core::human_seconds(epoch_seconds), " an epoch of backprop in batches of ",
                   batch, "), without evaluation");
}

nlohmann::json ListPlan::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannedRun& run : runs) {
    list.push_back({{"run", run.what},
                    {"cost_epochs", std::isfinite(run.cost) ? nlohmann::json(run.cost) : nullptr},
                    {"finished", run.finished}});
  }
  return {{"runs", list},        {"open", open()},
          {"cost_epochs", cost}, {"epoch_seconds", epoch_seconds},
          {"batch", batch},      {"device", device}};
}

}  // namespace adagp::experiment
