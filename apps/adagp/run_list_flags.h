#pragma once
// The flags of the commands that train a list of runs, each in a folder of its own: compare, sweep
// and reproduce.

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "adagp/base/core/output.h"
#include "adagp/lab/experiment/run_list.h"

namespace adagp::apps {

struct RunListFlags {
  int64_t seeds = 3;
  std::string output;  // folder of the runs
  double budget = 0;   // seconds; 0 = no limit
  bool overwrite = false, json = false;
  bool commands = false;  // print a command for each unit; train nothing
  bool dry_run = false;   // print the runs and what they cost; train nothing

  // --seeds, -o, --overwrite, --json and what several processes need to share the list. `folder` is
  // the default of -o.
  void declare(CLI::App& command, const std::string& folder);
  // --budget, in seconds; compare has another flag of this name.
  void declare_budget(CLI::App& command);

  // What these flags say to the options of an experiment.
  template <typename Options>
  void fill(Options& options) const {
    options.seeds = seeds;
    options.folder = output;
    options.overwrite = overwrite;
    options.sharing = sharing();
  }
  // --claim-timeout and --shard. Throws UsageError.
  experiment::Sharing sharing() const;
  // This command for each of so many units, on stdout.
  void print_commands(size_t units) const;
  // What is to be done, on stdout. Returns the exit code. `keep_diverged`: as RunListOptions'.
  int print_plan(const std::vector<experiment::Job>& jobs, experiment::TaskCache& tasks,
                 bool keep_diverged) const;
  // What is left when the command ends well.
  static void tell_left(size_t runs);

  // The report of an experiment on stdout.
  template <typename Report>
  void print(const Report& report) const {
    core::print_result((json ? to_json(report) : to_console(report)) + "\n", json);
  }

 private:
  std::string shard_;
  double claim_timeout_ = experiment::Sharing{}.claim_timeout;
};

}  // namespace adagp::apps
