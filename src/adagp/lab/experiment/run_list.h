#pragma once
// A list of runs, each in a folder of its own: what is finished is taken, the rest is trained.
// compare, compare --budget, sweep and reproduce are such lists with different tables behind them.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/lab/experiment/shared_list.h"
#include "adagp/lab/experiment/task_cache.h"
#include "adagp/results/report/summary.h"

namespace adagp::experiment {

struct Job {
  std::string what;  // "bp, seed 1", for messages
  config::RunConfig config;
  std::string folder;  // below the list's
  // Method equal-time: the folders of a bp run and of another run of the list, both before this
  // one. It gets as many batches as bp does in the seconds of the other.
  struct EqualSeconds {
    std::string bp, other;
  };
  std::optional<EqualSeconds> seconds_of{};
  // What one process does as a whole, so that what is compared is of one machine; empty: all runs
  // of a seed.
  std::string unit{};
};

struct JobResult {
  std::optional<report::Summary> summary;  // nothing: it diverged, or had no budget
  std::string diverged{};                  // what it said
  bool reused = false;                     // nothing was trained for it
  bool no_budget = false;                  // not run: a run whose seconds it should take diverged
};

struct RunListOptions {
  core::fs::path folder;
  bool overwrite = false;
  // A run that diverged is a result: it is not tried again by the next call.
  bool keep_diverged = false;
};

// `count` seeds from `first` on, which --seed and --seeds give. Throws UsageError where the last
// one is no number of 64 bits.
std::vector<int64_t> seeds_from(int64_t first, int64_t count);

// The unit of a job, as the name of a file, and the places of all units of a list, from 0 on.
std::string unit_of(const Job& job);
std::map<std::string, size_t> places_of_units(const std::vector<Job>& jobs);

// Joins the processes that work on this list. `command` is part of what they must agree in. Throws
// UsageError where others work on another list in this folder.
SharedList join_list(const std::string& command, const std::vector<Job>& jobs, TaskCache& tasks,
                     const RunListOptions& options, const Sharing& sharing);

// A run without its seed, as text: seeds cost the same.
std::string seedless(config::RunConfig config);

// A name that every file system takes.
std::string folder_name(const std::string& label);

// Checks every run before the first one starts, and returns what each costs in epochs of plain
// backprop: 0 for a finished one and for what another process has, NaN where it cannot be counted.
// Throws UsageError and DataError.
std::vector<double> check_list(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
                               const RunListOptions& options);

// "3 of 15 runs to do, which cost about 20 epochs of plain backprop".
std::string to_do(size_t open, size_t runs, double cost);

// Tells how many runs are left and what they cost by check_list().
void announce_list(const std::vector<Job>& jobs, const std::vector<double>& costs,
                   const RunListOptions& options);

// A quicker check, for lists over many networks whose runs are known to work: makes one run of each
// network that no folder has yet. Throws UsageError and DataError.
void check_new_networks(const std::vector<Job>& jobs, TaskCache& tasks,
                        const core::fs::path& folder);

// Calls `done` with the place and the result of each job, in the order of the list. Once
// core::stop_after() has passed, the run in work saves a checkpoint and only finished jobs are
// reported. The same holds for jobs that other processes work on. Returns how many are left to do.
// The same call goes on. Afterwards no other process writes tables until `shared` is gone or the
// next list is run. Throws Interrupted after a signal.
size_t run_list(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
                const RunListOptions& options,
                const std::function<void(size_t, const JobResult&)>& done);

}  // namespace adagp::experiment
