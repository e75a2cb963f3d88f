#include "adagp/lab/experiment/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/run_record.h"

namespace adagp::experiment {
namespace {

// Keys that one run of a comparison cannot have for itself: the data are opened once, and the
// others are what runs are told apart by.
void refuse_shared_keys(const std::string& assignment, const std::string& spec) {
  const std::string key = core::trim(assignment.substr(0, assignment.find('=')));
  const auto begins = [&](const char* prefix) { return key.starts_with(prefix); };
  if (key == "epochs") {
    throw UsageError("--methods: '" + spec + "': write lengths behind it, as bp@20 or bp@20/24");
  }
  if (key != "method" && key != "seed" && !begins("data.") && !begins("model.") &&
      !begins("translation.") && !begins("detection.")) {
    return;
  }
  throw UsageError("--methods: '" + spec + "': '" + key +
                   "' is the same for all runs of a comparison; set it outside of the brackets");
}

std::vector<int64_t> parse_epochs(const std::string& text, const std::string& spec) {
  std::vector<int64_t> out;
  for (const std::string& part : core::split(text, '/')) {
    long long epochs = 0;
    if (!core::parse_integer(part, epochs) || epochs < 1) {
      throw UsageError("--methods: '" + spec + "': '" + part +
                       "' after @, expected epochs as 20 or 20/24");
    }
    out.push_back(epochs);
  }
  return out;
}

// A run and what it is called in the table.
struct BudgetJob {
  std::string label;
  Job job;
};

void add_jobs(std::vector<BudgetJob>& jobs, config::RunConfig config, const BudgetSpec& spec,
              int64_t seed) {
  config.method = spec.method;
  config.seed = seed;
  core::Binding binding;
  bind(binding, config);
  for (const std::string& assignment : spec.sets) {
    try {
      binding.set(assignment);
    } catch (const UsageError& error) {
      throw UsageError("--methods: '" + spec.label + "': " + error.what());
    }
  }
  for (const int64_t epochs : spec.epochs) {
    config.epochs = epochs;
    train::check_names(config);
    jobs.push_back(
        {spec.label,
         {core::cat(spec.label, ", ", epochs, " epochs, batch ", config.batch, ", seed ", seed),
          config,
          core::cat(folder_name(spec.label), "-e", epochs, "-b", config.batch, "-seed", seed)}});
  }
}

std::vector<BudgetJob> all_jobs(const config::RunConfig& config, const BudgetOptions& options) {
  std::vector<BudgetSpec> specs;
  bool has_control = false;
  for (const std::string& text : options.methods) {
    specs.push_back(parse_budget_spec(text, options.epochs));
    has_control = has_control || specs.back().label == "bp";
  }
  if (!has_control) specs.insert(specs.begin(), parse_budget_spec("bp", options.epochs));
  std::vector<BudgetJob> jobs;
  for (const int64_t seed : seeds_from(config.seed, options.seeds)) {
    for (const BudgetSpec& spec : specs) add_jobs(jobs, config, spec, seed);
    const int64_t controls = options.control_seeds > 0 ? options.control_seeds : options.seeds;
    for (const int64_t batch : options.batches) {
      if (batch == config.batch || seed - config.seed >= controls) continue;
      config::RunConfig other = config;
      other.batch = batch;
      for (const BudgetSpec& spec : specs) {
        if (spec.label == "bp") add_jobs(jobs, other, spec, seed);
      }
    }
  }
  std::set<std::string> folders;
  for (const BudgetJob& one : jobs) {
    if (folders.insert(one.job.folder).second) continue;
    throw UsageError("--methods: '" + one.label + "' twice with the same length and batch size");
  }
  return jobs;
}

// Of bp at the configuration's batch size.
std::set<int64_t> control_lengths(const std::vector<BudgetJob>& jobs, int64_t batch) {
  std::set<int64_t> out;
  for (const auto& [label, job] : jobs) {
    if (label == "bp" && job.config.batch == batch) out.insert(job.config.epochs);
  }
  return out;
}

std::vector<int64_t> targets_of(const BudgetOptions& options, const std::set<int64_t>& lengths) {
  if (options.targets.empty()) {
    std::vector<int64_t> usual;
    for (const int64_t epochs : {15, 30}) {
      if (lengths.contains(epochs)) usual.push_back(epochs);
    }
    return usual.empty() ? std::vector<int64_t>{*lengths.rbegin()} : usual;
  }
  std::vector<std::string> known;
  for (const int64_t epochs : lengths) known.push_back(core::cat(epochs));
  for (const int64_t epochs : options.targets) {
    if (lengths.contains(epochs)) continue;
    throw UsageError(core::cat("--targets: ", epochs, " is none of bp's lengths (",
                               core::join(known, ", "), "); add it to them"));
  }
  return options.targets;
}

[[noreturn]] void refuse_uncounted(const std::string& model) {
  throw UsageError("--budget needs the cost of a step, and the network " + model +
                   " has no layer table");
}

// Refuses what cannot be before anything is trained, and tells how much there is to do.
void announce(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
              const RunListOptions& options) {
  const std::vector<double> costs = check_list(jobs, tasks, shared, options);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (std::isnan(costs[i])) refuse_uncounted(jobs[i].config.model.name);
  }
  announce_list(jobs, costs, options);
}

void write(const report::BudgetReport& report, const core::fs::path& folder) {
  core::write_file(folder / "budget.md", report::to_markdown(report));
  core::write_file(folder / "budget.json", report::to_json(report));
  core::write_file(folder / "budget.csv", report::to_csv(report));
  core::write_file(folder / "budget.svg", report::to_svg(report));
}

}  // namespace

BudgetSpec parse_budget_spec(const std::string& text, const std::vector<int64_t>& epochs) {
  BudgetSpec spec;
  const size_t open = text.find('['), close = text.rfind(']');
  const size_t at = text.find('@', close == std::string::npos ? 0 : close);
  if ((open == std::string::npos) != (close == std::string::npos) ||
      (open != std::string::npos && close < open)) {
    throw UsageError("--methods: '" + text + "': brackets do not match, expected NAME[key=value]");
  }
  spec.label = core::trim(text.substr(0, at));
  spec.method = core::trim(text.substr(0, std::min(open, at)));
  if (method::find_method(spec.method).length) {
    throw UsageError("--methods: " + spec.method + " is what --budget does with bp; leave it out");
  }
  if (open != std::string::npos) {
    for (const std::string& part : core::split(text.substr(open + 1, close - open - 1), ';')) {
      const std::string assignment = core::trim(part);
      if (assignment.empty()) continue;
      refuse_shared_keys(assignment, text);
      spec.sets.push_back(assignment);
    }
  }
  spec.epochs = at == std::string::npos ? epochs : parse_epochs(text.substr(at + 1), text);
  return spec;
}

std::vector<Job> budget_list(const config::RunConfig& config, const BudgetOptions& options) {
  const std::vector<BudgetJob> jobs = all_jobs(config, options);
  targets_of(options, control_lengths(jobs, config.batch));  // refuses targets that no run has
  std::vector<Job> out;
  for (const BudgetJob& one : jobs) out.push_back(one.job);
  return out;
}

BudgetResult compare_budgets(const config::RunConfig& config, const BudgetOptions& options) {
  train::check_names(config);
  const std::vector<BudgetJob> labelled = all_jobs(config, options);
  std::vector<Job> jobs;
  for (const BudgetJob& one : labelled) jobs.push_back(one.job);
  const std::set<int64_t> lengths = control_lengths(labelled, config.batch);
  const std::vector<int64_t> targets = targets_of(options, lengths);
  if (lengths.size() < 2) {
    core::log_warning("--budget: bp has one length, and a control needs two: bp@8/15/30");
  }
  core::make_folder(options.folder);
  TaskCache tasks;
  const task::TaskPtr task = tasks.open(config);
  const task::Figure& figure = task->figures().front();
  const report::Metric metric{figure.name, figure.label, figure.percent};
  const RunListOptions list{options.folder, options.overwrite};
  SharedList shared = join_list("compare --budget", jobs, tasks, list, options.sharing);
  announce(jobs, tasks, shared, list);

  BudgetResult result;
  std::vector<report::BudgetRun> runs;
  std::string about;
  report::Conditions conditions;
  result.open = run_list(jobs, tasks, shared, list, [&](size_t index, const JobResult& one) {
    const config::RunConfig& asked = jobs[index].config;
    const std::string& label = labelled[index].label;
    if (one.summary) {
      const report::Summary& s = *one.summary;
      if (!s.cost_epochs) refuse_uncounted(s.model);
      runs.push_back({label, s.epochs, s.batch, s.seed, s.score(), *s.cost_epochs, s.train_seconds,
                      hardware_of(options.folder / jobs[index].folder)});
      about =
          core::cat(s.model, " on ", s.data, ", ", s.device, ", ", s.precision, ", ", options.seeds,
                    options.seeds == 1 ? " seed" : " seeds", " from ", config.seed);
      conditions = s.conditions;
    } else {
      result.diverged.push_back(jobs[index].folder + ": " + one.diverged);
      // A length with a run that failed is judged by none: those that did not are no fair sample.
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      runs.push_back({label, asked.epochs, asked.batch, asked.seed, kNone, kNone, kNone, {}});
    }
    const bool has_control = std::any_of(runs.begin(), runs.end(), [](const auto& run) {
      return run.method == "bp" && std::isfinite(run.score);
    });
    if (!has_control) return;
    result.report = report::budget_report(runs, metric, config.batch, targets);
    result.report.about = about;
    result.report.conditions = conditions;
    write(result.report, options.folder);
  });
  if (result.report.runs.empty() && result.open == 0) {
    throw DivergedError("no run of bp was finished");
  }
  return result;
}

}  // namespace adagp::experiment
