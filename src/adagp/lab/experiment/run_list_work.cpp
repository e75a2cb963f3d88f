#include "adagp/lab/experiment/run_list.h"

#include <map>
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

constexpr const char* kBudgetKey = "equal_time.batches";

// In what the run that is there differs from what it should be.
std::vector<std::string> differing_keys(config::RunConfig& config, const config::RunConfig& stored,
                                        const task::TaskPtr& task) {
  task->resolve(config);
  if (config.precision != stored.precision) run::resolve_precision(config, false);
  return run::differing_keys(config, stored);
}

// Whether the equal-time run that is there spent another budget: one of the others was made again.
bool is_outdated(config::RunConfig config, const task::TaskPtr& task,
                 const core::fs::path& folder) {
  if (!core::fs::exists(folder / "config.toml")) return false;
  const config::RunConfig stored = run::read_config(folder);
  const std::vector<std::string> keys = differing_keys(config, stored, task);
  if (keys != std::vector<std::string>{kBudgetKey}) return false;
  core::log_info(core::cat(folder.string(), ": had a budget of ", stored.equal_time_batches,
                           " batches, and bp or adagp of its seed was made again: now it has ",
                           config.equal_time_batches, ", so equal-time is run again too"));
  return true;
}

// A run of another process was checked against the list of that process, maybe long ago.
void refuse_another(config::RunConfig config, const task::TaskPtr& task,
                    const core::fs::path& folder) {
  const config::RunConfig stored = run::read_config(folder);
  std::vector<std::string> keys = differing_keys(config, stored, task);
  std::erase(keys, kBudgetKey);
  if (keys.empty()) return;
  throw UsageError(core::cat(folder.string(), ": holds a run with another configuration (",
                             core::join(keys, ", "), "); choose another folder"));
}

// What the note of a run that diverged says.
std::optional<JobResult> read_note(const core::fs::path& folder) {
  const core::fs::path note = diverged_file(folder);
  if (!core::fs::exists(note)) return std::nullopt;
  return JobResult{std::nullopt, core::trim(core::read_regular_file(note, kMostNoteBytes)), true};
}

// What is known of a run that diverged in an earlier call.
std::optional<JobResult> found_diverged(const core::fs::path& folder,
                                        const RunListOptions& options) {
  if (!options.keep_diverged || options.overwrite) return std::nullopt;
  return read_note(folder);
}

using NoteTime = std::optional<core::fs::file_time_type>;
NoteTime time_of_note(const core::fs::path& folder) {
  std::error_code none;
  const auto time = core::fs::last_write_time(diverged_file(folder), none);
  return none ? NoteTime{} : NoteTime{time};
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
  if (const auto before = found_diverged(folder, options)) {
    core::log_info(what + ": diverged before");
    return *before;
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
    core::make_folder(folder);
    core::write_file(note, std::string(error.what()) + "\n");
    return {std::nullopt, error.what(), false};
  }
}

// One call of run_list().
class ListWork {
 public:
  ListWork(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
           const RunListOptions& options, const std::function<void(size_t, const JobResult&)>& done)
      : jobs_(jobs),
        tasks_(tasks),
        shared_(shared),
        options_(options),
        done_(done),
        places_(places_of_units(jobs)),
        results_(jobs.size()) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      last_[unit_of(jobs[i])] = i;
      notes_.push_back(time_of_note(folder_of(i)));
    }
  }

  // Works on what no other process works on. False: there was nothing to do.
  bool pass() {
    bool worked = false;
    std::set<std::string> elsewhere;
    open_.clear();
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const std::string unit = unit_of(jobs_[i]);
      if (!results_[i]) {
        if (elsewhere.contains(unit) || !shared_.take(unit, places_.at(unit))) {
          elsewhere.insert(unit);
        } else {
          worked = work_on(i) || worked;
        }
      }
      if (last_.at(unit) == i) shared_.release(unit);
    }
    return worked;
  }

  // What other processes finished meanwhile is taken as it is, and all that is known is reported.
  // Returns how many runs are left.
  size_t finish() {
    shared_.tell_who(unknown_units());
    shared_.begin_tables();
    for (size_t i = next_; i < jobs_.size(); ++i) {
      if (!results_[i]) results_[i] = found(i);
    }
    size_t left = 0;
    for (; next_ < jobs_.size(); ++next_) {
      if (results_[next_]) {
        done_(next_, *results_[next_]);
      } else {
        ++left;
      }
    }
    return left;
  }

 private:
  core::fs::path folder_of(size_t i) const { return options_.folder / jobs_[i].folder; }

  std::string what(size_t i) const {
    return core::cat("run ", i + 1, " of ", jobs_.size(), ": ", jobs_[i].what);
  }

  // False: it has to wait.
  bool work_on(size_t i) {
    const Job& job = jobs_[i];
    // Another process tried it while this one was at work: once is enough.
    if (const NoteTime now = time_of_note(folder_of(i)); now && now != notes_[i]) {
      keep(i, *read_note(folder_of(i)));
      report();
      return true;
    }
    const bool finished = is_finished(folder_of(i), options_.overwrite);
    if ((core::time_is_up() && !finished) || waits(job, summaries_, open_)) {
      open_[job.folder] = true;
      report();
      return false;
    }
    try {
      keep(i, run_job(job, tasks_, options_, summaries_, what(i)));
    } catch (const Interrupted& error) {
      if (!core::time_is_up()) throw;
      core::log_info(std::string("the time is up: ") + error.what());
      open_[job.folder] = true;
    }
    report();
    return !open_.contains(job.folder);
  }

  void keep(size_t i, const JobResult& result) {
    if (result.summary) summaries_[jobs_[i].folder] = *result.summary;
    results_[i] = result;
  }

  // In the order of the list. Where others work on it, too, nobody but the one that has just looked
  // what is finished (finish) writes tables.
  void report() {
    if (!shared_.alone()) return;
    for (; next_ < jobs_.size() && results_[next_]; ++next_) done_(next_, *results_[next_]);
  }

  std::optional<JobResult> found(size_t i) const {
    const core::fs::path folder = folder_of(i);
    // Opening a folder makes NFS look again; else it may not know new files for a minute.
    std::error_code ignored;
    const core::fs::directory_iterator look_again(folder, ignored);
    if (is_finished(folder, options_.overwrite)) {
      config::RunConfig config = jobs_[i].config;
      refuse_another(config, tasks_.open(config), folder);
      core::log_info(what(i) + ": finished by another process");
      return JobResult{report::Summary::read(folder / "summary.json"), "", true};
    }
    return options_.overwrite ? std::nullopt : read_note(folder);
  }

  std::vector<std::string> unknown_units() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (!results_[i]) out.push_back(unit_of(jobs_[i]));
    }
    return out;
  }

  const std::vector<Job>& jobs_;
  TaskCache& tasks_;
  SharedList& shared_;
  const RunListOptions& options_;
  const std::function<void(size_t, const JobResult&)>& done_;
  const std::map<std::string, size_t> places_;
  std::map<std::string, size_t> last_;  // job of a unit
  std::vector<std::optional<JobResult>> results_;
  Summaries summaries_;
  std::map<std::string, bool> open_;  // folders of what this process could not do yet
  std::vector<NoteTime> notes_;       // of runs that had diverged before this call
  size_t next_ = 0;
};

}  // namespace

size_t run_list(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
                const RunListOptions& options,
                const std::function<void(size_t, const JobResult&)>& done) {
  shared.end_tables();
  ListWork work(jobs, tasks, shared, options, done);
  while (work.pass()) {
  }
  return work.finish();
}

}  // namespace adagp::experiment
