// adagp watch: a table of the runs that are not finished, again and again.

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/progress.h"
#include "commands.h"
#include "live.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct WatchArgs {
  std::vector<std::string> folders;
  bool once = false;
  int every = 2;
};

std::vector<report::RunFiles> read_all(const std::vector<std::string>& folders) {
  std::vector<report::RunFiles> runs;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    if (!core::fs::is_directory(folder, ignored)) {
      throw DataError(folder + ": no such folder; expected a run folder or a folder of runs");
    }
    if (report::is_run_folder(folder)) {
      runs.push_back(report::read_run(folder));
      continue;
    }
    for (const auto& one : report::run_folders_in(folder)) runs.push_back(report::read_run(one));
  }
  return runs;
}

std::string screen_of(const std::vector<report::RunFiles>& runs, size_t unfinished) {
  const std::string counts =
      core::cat(runs.size() - unfinished, " finished, ", unfinished, " not finished\n");
  if (unfinished == 0) return counts;
  std::string text = report::progress_table(runs).console() + "\n" + counts;
  for (const report::RunFiles& run : runs) {
    for (const std::string& note : run.notes) text += note + "\n";
  }
  return text;
}

int run_watch(const WatchArgs& args) {
  core::catch_signals();
  const bool again = !args.once && isatty(STDOUT_FILENO) == 1;
  // A comparison may be between two runs: one look at nothing does not end it.
  for (int quiet = 0; quiet < 2;) {
    const auto runs = read_all(args.folders);
    if (runs.empty() && !again) {
      throw DataError(
          core::join(args.folders, ", ") +
          ": no run folder; expected what 'adagp train -o' or 'adagp compare -o' wrote");
    }
    size_t unfinished = 0;
    for (const report::RunFiles& run : runs) unfinished += run.finished() ? 0 : 1;
    if (again) std::fputs("\x1b[H\x1b[J", stdout);  // to the first line, and clear what is below
    core::print(screen_of(runs, unfinished));
    core::flush_stdout();
    if (!again) return 0;
    quiet = unfinished > 0 ? 0 : quiet + 1;
    if (quiet < 2) wait_or_stop(args.every, "watch: stopped; the runs go on");
  }
  return 0;
}

}  // namespace

void add_watch(CLI::App& app, Action& action) {
  auto args = std::make_shared<WatchArgs>();
  CLI::App* command =
      app.add_subcommand("watch", "Runs that are not finished: epoch, score, seconds, time left");
  command->add_option("folders", args->folders, "Run folders, or folders of runs")
      ->required()
      ->type_name("DIR...");
  command->add_flag("--once", args->once, "Print the table once; so does a pipe or a file");
  add_number(*command, "--every", args->every, "Seconds between two looks", 1, 86400)
      ->capture_default_str();
  command->footer(
      "The time left is that of the training alone, without evaluations. 'last record' tells a run "
      "that\nstands still from one that goes on: a killed run is not finished either.");
  command->callback([args, &action] { action = [args] { return run_watch(*args); }; });
}

}  // namespace adagp::apps
