#include "adagp/lab/experiment/run_list.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/equal_time.h"
#include "adagp/engine/run/precision.h"
#include "adagp/lab/experiment/runs.h"

namespace adagp::experiment {
namespace {

// What a run that diverged said, in its folder.
core::fs::path diverged_file(const core::fs::path& folder) {
  return folder / "diverged.txt";
}
constexpr uintmax_t kMostNoteBytes = 1 << 20;

using Summaries = std::map<std::string, report::Summary>;  // by folder

// The budget that bp and the other run give.
void set_budget(config::RunConfig& config, const Job::EqualSeconds& of, const Summaries& results) {
  const report::Summary& bp = results.at(of.bp);
  config.equal_time_batches =
      method::budget_batches(results.at(of.other).train_seconds,
                             bp.train_seconds / static_cast<double>(bp.bp_batches), bp.bp_batches);
}

// Whether the equal-time run that is there spent another budget: one of the others was made again.
bool is_outdated(config::RunConfig config, const task::TaskPtr& task,
                 const core::fs::path& folder) {
  if (!core::fs::exists(folder / "config.toml")) return false;
  task->resolve(config);
  const config::RunConfig stored = run::read_config(folder);
  if (config.precision != stored.precision) run::resolve_precision(config, false);
  const std::vector<std::string> keys = run::differing_keys(config, stored);
  if (keys != std::vector<std::string>{"equal_time.batches"}) return false;
  core::log_info(core::cat(folder.string(), ": had a budget of ", stored.equal_time_batches,
                           " batches, and bp or adagp of its seed was made again: now it has ",
                           config.equal_time_batches, ", so equal-time is run again too"));
  return true;
}

// Of the runs that take seconds from others these are known by now, unless they wait themselves.
bool waits(const Job& job, const Summaries& results, const std::map<std::string, bool>& open) {
  if (!job.seconds_of) return false;
  const auto waiting = [&](const std::string& folder) {
    return !results.contains(folder) && open.contains(folder);
  };
  return waiting(job.seconds_of->bp) || waiting(job.seconds_of->other);
}

JobResult run_job(const Job& job, TaskCache& tasks, const RunListOptions& options,
                  const Summaries& results, const std::string& what) {
  const core::fs::path folder = options.folder / job.folder;
  const core::fs::path note = diverged_file(folder);
  if (options.keep_diverged && !options.overwrite && core::fs::exists(note)) {
    core::log_info(what + ": diverged before");
    return {std::nullopt, core::trim(core::read_regular_file(note, kMostNoteBytes)), true};
  }
  if (job.seconds_of &&
      !(results.contains(job.seconds_of->bp) && results.contains(job.seconds_of->other))) {
    const std::string why =
        core::cat(job.config.method, " has no budget, because ", job.seconds_of->bp, " or ",
                  job.seconds_of->other, " diverged");
    core::log_error(why);
    return {std::nullopt, why, false, true};
  }
  try {
    config::RunConfig config = job.config;
    const task::TaskPtr task = tasks.open(config);
    bool replace = options.overwrite;
    if (job.seconds_of) {
      set_budget(config, *job.seconds_of, results);
      replace = replace || is_outdated(config, task, folder);
    }
    const bool reused = is_finished(folder, replace);
    JobResult result{run_or_reuse(config, task, folder, replace, what), "", reused};
    std::error_code ignored;
    core::fs::remove(note, ignored);
    return result;
  } catch (const DivergedError& error) {
    core::log_error(error.what());
    if (options.keep_diverged) {
      core::make_folder(folder);
      core::write_file(note, std::string(error.what()) + "\n");
    }
    return {std::nullopt, error.what(), false};
  }
}

}  // namespace

std::vector<int64_t> seeds_from(int64_t first, int64_t count) {
  const int64_t most = std::numeric_limits<int64_t>::max() - (count - 1);
  if (first > most) {
    throw UsageError(core::cat("--seed ", first, " and --seeds ", count,
                               ": the last seed is too large; expected --seed up to ", most));
  }
  std::vector<int64_t> seeds(static_cast<size_t>(count));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

std::string folder_name(const std::string& label) {
  std::string out;
  for (const char c : label) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ||
                       c == '_' || c == '+';
    if (plain || (!out.empty() && out.back() != '_')) out += plain ? c : '_';
  }
  return out;
}

std::vector<double> check_list(const std::vector<Job>& jobs, TaskCache& tasks,
                               const RunListOptions& options) {
  std::vector<double> costs;
  std::map<std::string, double> known;  // by configuration without its seed: seeds cost the same
  for (const Job& job : jobs) {
    const core::fs::path folder = options.folder / job.folder;
    if (options.overwrite) run::refuse_own_inputs(job.config, folder);
    costs.push_back(0);
    if (job.seconds_of) continue;  // plain backprop, whose budget is not known yet
    config::RunConfig seedless = job.config;
    seedless.seed = 0;
    core::Binding binding;
    bind(binding, seedless);
    const std::string text = binding.to_toml();
    const bool there = core::fs::exists(folder / "config.toml");
    if (!known.contains(text) || (there && !options.overwrite)) {
      const double cost = check_run(job.config, tasks.open(job.config), folder, options.overwrite);
      if (is_finished(folder, options.overwrite)) continue;
      known[text] = cost;
    }
    costs.back() = known.at(text);
  }
  return costs;
}

void announce_list(const std::vector<Job>& jobs, const std::vector<double>& costs,
                   const RunListOptions& options) {
  size_t open = 0;
  double epochs = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (is_finished(options.folder / jobs[i].folder, options.overwrite)) continue;
    ++open;
    if (std::isfinite(costs[i])) epochs += costs[i];
  }
  if (open == 0) return;
  core::log_info(core::cat(open, " of ", jobs.size(), " runs to do, which cost about ",
                           core::fixed(epochs, 0), " epochs of plain backprop"));
}

void check_new_networks(const std::vector<Job>& jobs, TaskCache& tasks,
                        const core::fs::path& folder) {
  std::set<std::string> known;
  for (const Job& job : jobs) {
    if (core::fs::exists(folder / job.folder / "config.toml")) known.insert(job.config.model.name);
  }
  for (const Job& job : jobs) {
    if (core::pending_signal() != 0 || job.seconds_of) continue;
    if (!known.insert(job.config.model.name).second) continue;
    forecast_run(job.config, tasks.open(job.config));
  }
}

size_t run_list(const std::vector<Job>& jobs, TaskCache& tasks, const RunListOptions& options,
                const std::function<void(size_t, const JobResult&)>& done) {
  core::make_folder(options.folder);
  Summaries results;
  std::map<std::string, bool> open;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const std::string what = core::cat("run ", i + 1, " of ", jobs.size(), ": ", job.what);
    const bool finished = is_finished(options.folder / job.folder, options.overwrite);
    if ((core::time_is_up() && !finished) || waits(job, results, open)) {
      open[job.folder] = true;
      continue;
    }
    try {
      const JobResult result = run_job(job, tasks, options, results, what);
      if (result.summary) results[job.folder] = *result.summary;
      done(i, result);
    } catch (const Interrupted& error) {
      if (!core::time_is_up()) throw;
      core::log_info(std::string("the time is up: ") + error.what());
      open[job.folder] = true;
    }
  }
  return open.size();
}

}  // namespace adagp::experiment
