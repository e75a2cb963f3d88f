#include "run_list_flags.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/text.h"
#include "adagp/lab/experiment/list_plan.h"
#include "adagp/lab/experiment/shards.h"
#include "number_flag.h"

namespace adagp::apps {

void RunListFlags::declare(CLI::App& command, const std::string& folder) {
  output = folder;
  add_number(command, "--seeds", seeds, "How many, from --seed on", 1, 1000)->capture_default_str();
  command.add_option("-o,--output", output, "Folder of the runs; the same command resumes it")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--overwrite", overwrite, "Run everything anew");
  command.add_flag("--json", json, "Print as JSON");
  command
      .add_option(
          "--shard", shard_,
          "Part I of N of the list: its seeds I, I + N, ... (default: all; in a Slurm array "
          "that of the task)")
      ->type_name("I/N");
  command.add_flag("--commands", commands,
                   "Print a command for each part that one machine does; train nothing");
  command
      .add_flag("--dry-run", dry_run,
                "Print the runs, what they cost and an estimate of the time; train nothing")
      ->excludes(command.get_option("--commands"))
      ->excludes(command.get_option("--shard"));
  add_number(command, "--claim-timeout", claim_timeout_,
             "Seconds after which the work of a silent process of another machine is taken over", 1,
             1e6)
      ->capture_default_str();
}

experiment::Sharing RunListFlags::sharing() const {
  experiment::Sharing out;
  out.claim_timeout = claim_timeout_;
  if (overwrite && (commands || !shard_.empty())) {
    throw UsageError("--overwrite: needs the list alone; leave --shard and --commands out");
  }
  if (!shard_.empty()) {
    if (commands) {
      throw UsageError("--commands: prints the commands of all shards; leave --shard out");
    }
    experiment::set_shard(out, shard_);
  } else if (!commands && !overwrite && !dry_run) {
    experiment::set_shard_from_slurm(out);
  }
  return out;
}

void RunListFlags::print_commands(size_t units) const {
  std::vector<std::string> words;
  for (const std::string& word : core::command()) {
    if (word != "--commands") words.push_back(core::shell_word(word));
  }
  for (size_t unit = 1; unit <= units; ++unit) {
    core::print_data(core::cat(core::join(words, " "), " --shard ", unit, "/", units, "\n"));
  }
}

int RunListFlags::print_plan(const std::vector<experiment::Job>& jobs, experiment::TaskCache& tasks,
                             bool keep_diverged) const {
  const auto plan = experiment::plan_list(jobs, tasks, {output, overwrite, keep_diverged});
  core::print_result((json ? plan.to_json().dump(2) : plan.text()) + "\n", json);
  return 0;
}

void RunListFlags::tell_left(size_t runs) {
  if (runs == 0) return;
  core::log_info(
      core::cat(runs, runs == 1 ? " run is" : " runs are", " left; the same command goes on"));
}

void RunListFlags::declare_budget(CLI::App& command) {
  add_number(command, "--budget", budget,
             "Seconds after which the run in work is saved; the same command goes on", 1e-3, 1e9);
}

}  // namespace adagp::apps
