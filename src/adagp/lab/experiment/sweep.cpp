#include "adagp/lab/experiment/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/lab/experiment/run_record.h"
#include "adagp/lab/experiment/sweep_plan.h"
#include "adagp/papers/study/sweep_points.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool sweeps_group(const SweepOptions& options, const char* group) {
  for (const auto& [key, value] : options.points.front().values) {
    if (key.starts_with(group)) return true;
  }
  return false;
}

void forget_seconds(report::SweepPointRuns& point) {
  for (auto* runs : {&point.runs, &point.bp, &point.skip}) {
    for (report::SweepRun& run : *runs) run.seconds = kMissing;
  }
}

// What was run so far, and the table of it.
class SweepProgress {
 public:
  SweepProgress(const SweepPlan& plan, const SweepOptions& options, report::Metric metric)
      : plan_(plan),
        options_(options),
        metric_(std::move(metric)),
        runs_(plan.points.size()),
        controls_(plan.controls.size()) {
    if (options.named) keys_.emplace_back("point");
    for (const auto& entry : options.points.front().values) keys_.push_back(entry.first);
    for (const study::SweepPoint& point : options.points) {
      report::SweepPointRuns& runs = points_.emplace_back();
      runs.name = point.name;
      if (options.named) runs.values.push_back(point.name);
      for (const auto& entry : point.values) runs.values.push_back(entry.second);
    }
  }

  void add(const SweepJob& job, const JobResult& result) {
    const int64_t seed = job.job.config.seed;
    report::SweepRun run{seed, kMissing, kMissing, kMissing};
    if (result.summary) {
      const report::Summary& s = *result.summary;
      run = {seed, s.score(), s.cost_epochs.value_or(kMissing), s.train_seconds};
    }
    if (result.summary) {
      const std::string hardware = hardware_of(options_.folder / job.job.folder);
      if (!hardware.empty()) hardware_.insert(hardware);
    }
    (job.control ? controls_ : runs_)[job.index].push_back(run);
    if (result.summary && !job.control) describe(job, *result.summary);
    ++done_;
  }

  // `planned`: runs of the whole sweep.
  report::SweepReport report(size_t planned) const {
    std::vector<report::SweepPointRuns> points = points_;
    for (size_t i = 0; i < points.size(); ++i) {
      points[i].runs = runs_[i];
      if (plan_.points[i].bp >= 0) points[i].bp = controls_[size_t(plan_.points[i].bp)];
      if (plan_.points[i].skip >= 0) points[i].skip = controls_[size_t(plan_.points[i].skip)];
      if (hardware_.size() > 1) forget_seconds(points[i]);
    }
    report::SweepReport out = report::sweep_report(points, keys_, metric_, options_.axes);
    out.about = about_;
    out.conditions = conditions_;
    out.runs_done = static_cast<int64_t>(done_);
    out.runs_planned = static_cast<int64_t>(planned);
    out.notes = plan_.notes;
    const std::string unlike = report::hardware_note({hardware_.begin(), hardware_.end()});
    if (!unlike.empty()) out.notes.push_back(unlike);
    return out;
  }

 private:
  // What a finished run says beside its score.
  void describe(const SweepJob& job, const report::Summary& s) {
    report::SweepPointRuns& point = points_[job.index];
    point.gp_share = s.gp_share();
    if (s.cosine) point.cosine = s.cosine;
    if (!point.speedup) point.speedup = speedup_of(job);
    const bool one_model = !sweeps_group(options_, "model.") && !sweeps_group(options_, "data.");
    about_ = core::cat(one_model ? s.model + " on " + s.data + ", " : "", s.device, ", ",
                       s.precision, ", ", options_.seeds, options_.seeds == 1 ? " seed" : " seeds");
    if (one_model) conditions_ = s.conditions;
  }

  std::optional<double> speedup_of(const SweepJob& job) const {
    const config::RunConfig& config = job.job.config;
    const core::fs::path layers = options_.folder / job.job.folder / "layers.csv";
    if (!method::find_method(config.method).predicts || !core::fs::exists(layers)) {
      return std::nullopt;
    }
    const int64_t batches = plan_.points[job.index].forecast.batches_per_epoch;
    return study::simulated_speedup({layers, config.schedule, config.epochs, config.batch,
                                     batches * config.batch, config.predictor});
  }

  const SweepPlan& plan_;
  const SweepOptions& options_;
  report::Metric metric_;
  std::vector<std::string> keys_;
  std::vector<report::SweepPointRuns> points_;
  std::vector<std::vector<report::SweepRun>> runs_, controls_;
  std::set<std::string> hardware_;
  size_t done_ = 0;
  std::string about_;
  report::Conditions conditions_;
};

void write(const report::SweepReport& report, const core::fs::path& folder) {
  core::write_file(folder / "sweep.md", report::to_markdown(report));
  core::write_file(folder / "sweep.json", report::to_json(report));
  core::write_file(folder / "sweep.csv", report::to_csv(report));
  const bool any = std::any_of(report.rows.begin(), report.rows.end(), [](const auto& row) {
    return std::isfinite(row.score_mean) && row.seconds_mean > 0;
  });
  if (any) core::write_file(folder / "sweep.svg", report::to_svg(report));
}

// On a terminal the table as it is now, else a line.
void show(const report::SweepReport& report, const SweepJob& job) {
  if (core::stderr_is_terminal()) {
    core::log_info("\n" + report::to_console(report));
    return;
  }
  if (job.control) return;
  const report::SweepRow& row = report.rows[job.index];
  core::log_info(core::cat("sweep: ", report.runs_done, " of ", report.runs_planned, " runs; ",
                           row.name, ": ", report.metric.label, " ",
                           report::with_spread(row.score_mean, row.score_error)));
}

// The points on the front and on the next layer after their first seed.
std::vector<size_t> promising(const report::SweepReport& report) {
  std::vector<std::vector<double>> values;
  for (const report::SweepRow& row : report.rows) {
    values.push_back(report::on_axes(row, report.axes));
  }
  const std::vector<int> layers = report::pareto_layers(values);
  std::vector<size_t> out;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] == 0 || layers[i] == 1) out.push_back(i);
  }
  return out;
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& unswept_keys() {
  static const std::vector<std::pair<std::string, std::string>> keys = [] {
    std::vector<std::pair<std::string, std::string>> out{
        {"seed", "every point is run with the same seeds; use --seeds and --seed"},
        {"device", "all points run on one device; use --device"},
        {"equal_time.reference", "a sweep sets the lengths of its controls itself"},
        {"equal_time.batches", "a sweep sets the lengths of its controls itself"}};
    for (const std::string& key : config::cosmetic_keys()) {
      out.emplace_back(key, "it changes nothing that is computed");
    }
    return out;
  }();
  return keys;
}

std::vector<config::RunConfig> sweep_runs(const config::RunConfig& config,
                                          const SweepOptions& options) {
  std::vector<config::RunConfig> out;
  for (const study::SweepPoint& point : options.points) {
    out.push_back(config);
    core::Binding binding;
    bind(binding, out.back());
    for (const auto& [key, value] : point.values) binding.set(key, value, "--over " + key);
  }
  return out;
}

std::vector<Job> sweep_list(const config::RunConfig& config, const SweepOptions& options,
                            TaskCache& tasks) {
  const SweepPlan plan = plan_sweep(config, options, tasks);
  std::vector<Job> jobs;
  for (SweepJob& one :
       sweep_jobs(plan, plan.order, config.seed, options.select ? 1 : options.seeds)) {
    jobs.push_back(std::move(one.job));
  }
  return jobs;
}

SweepResult sweep(const config::RunConfig& config, const SweepOptions& options) {
  seeds_from(config.seed, options.seeds);  // what is too large is refused here
  core::make_folder(options.folder);
  TaskCache tasks;
  const SweepPlan plan = plan_sweep(config, options, tasks);
  const RunListOptions list{options.folder, options.overwrite, true};
  const task::Figure figure = tasks.open(plan.points.front().training.config)->figures().front();
  SweepProgress progress(plan, options, {figure.name, figure.label, figure.percent});

  std::vector<Job> whole;
  for (const SweepJob& one : sweep_jobs(plan, plan.order, config.seed, options.seeds)) {
    whole.push_back(one.job);
  }
  SharedList shared = join_list("sweep", whole, tasks, list, options.sharing);

  SweepResult result;
  size_t planned = 0;
  const auto run = [&](const std::vector<size_t>& points, int64_t seed, int64_t seeds) {
    const std::vector<SweepJob> all = sweep_jobs(plan, points, seed, seeds);
    std::vector<Job> jobs;
    for (const SweepJob& one : all) jobs.push_back(one.job);
    planned += jobs.size();
    announce_list(jobs, check_list(jobs, tasks, shared, list), list);
    result.open += run_list(jobs, tasks, shared, list, [&](size_t i, const JobResult& one) {
      progress.add(all[i], one);
      if (one.reused) return;
      result.report = progress.report(planned);
      write(result.report, options.folder);
      show(result.report, all[i]);
    });
    result.report = progress.report(planned);
    write(result.report, options.folder);
  };
  const int64_t first = options.select ? 1 : options.seeds;
  run(plan.order, config.seed, first);
  if (options.select && options.seeds > 1 && result.open == 0) {
    const std::vector<size_t> chosen = promising(result.report);
    core::log_info(core::cat("sweep: ", chosen.size(), " of ", plan.points.size(),
                             " points go on with more seeds"));
    run(chosen, config.seed + 1, options.seeds - 1);
  }
  return result;
}

}  // namespace adagp::experiment
