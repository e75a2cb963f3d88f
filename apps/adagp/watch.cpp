// adagp report --watch: a table of the runs that are not finished, again and again.

#include "watch.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/run_files.h"

namespace adagp::apps {
namespace {

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

}  // namespace

int watch_runs(const std::vector<std::string>& folders, bool once, int every) {
  core::catch_signals();
  const bool again = !once && isatty(STDOUT_FILENO) == 1;
  // A comparison may be between two runs: one look at nothing does not end it.
  for (int quiet = 0; quiet < 2;) {
    const auto runs = read_all(folders);
    if (runs.empty() && !again) {
      throw DataError(
          core::join(folders, ", ") +
          ": no run folder; expected what 'adagp train -o' or 'adagp compare -o' wrote");
    }
    size_t unfinished = 0;
    for (const report::RunFiles& run : runs) unfinished += run.finished() ? 0 : 1;
    if (again) std::fputs("\x1b[H\x1b[J", stdout);  // to the first line, and clear what is below
    core::print(screen_of(runs, unfinished));
    core::flush_stdout();
    if (!again) return 0;
    quiet = unfinished > 0 ? 0 : quiet + 1;
    if (quiet < 2) wait_or_stop(every, "report: stopped; the runs go on");
  }
  return 0;
}

void wait_or_stop(double seconds, const std::string& message) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
    if (const int signal = core::pending_signal()) throw Interrupted(message, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace adagp::apps
