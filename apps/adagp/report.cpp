// adagp report: runs, comparisons and results of the simulators as one HTML file.

#include <algorithm>
#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/page.h"
#include "commands.h"
#include "live.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct ReportArgs {
  std::vector<std::string> paths;
  std::string output = "report.html", title = "adagp report";
  bool follow = false;
  int every = 10;
};

std::string command_line(const ReportArgs& args) {
  std::vector<std::string> words = {"adagp", "report"};
  for (const std::string& path : args.paths) words.push_back(core::shell_word(path));
  if (args.title != ReportArgs{}.title) {
    words.insert(words.end(), {"--title", core::shell_word(args.title)});
  }
  words.insert(words.end(), {"-o", core::shell_word(args.output)});
  return core::join(words, " ");
}

// Whether a run goes on.
bool write_report(const ReportArgs& args, bool reload, std::vector<std::string>& told) {
  const page::Inputs inputs = page::read_inputs(args.paths);
  for (const std::string& note : inputs.left_out) {
    if (std::find(told.begin(), told.end(), note) != told.end()) continue;
    told.push_back(note);
    core::log_warning(note);
  }
  page::PageOptions options{args.title, command_line(args), 0};
  if (reload) options.reload_seconds = args.every;
  core::write_output(args.output, page::make_page(inputs, options));
  return inputs.unfinished();
}

// The command may begin before the first run has a folder.
void wait_for_a_run(const ReportArgs& args) {
  const bool may_come = std::any_of(args.paths.begin(), args.paths.end(), [](const auto& path) {
    return !core::fs::exists(path) || core::fs::is_directory(path);
  });
  for (bool told = false;; told = true) {
    try {
      page::read_inputs(args.paths);
      return;
    } catch (const DataError& error) {
      if (!may_come) throw;
      if (!told) core::log_info(std::string("waiting for the first run: ") + error.what());
    }
    wait_or_stop(1, "report: stopped; no run has begun, and nothing is written");
  }
}

int run_report(const ReportArgs& args) {
  std::vector<std::string> told;
  if (!args.follow) {
    write_report(args, false, told);
    core::log_info("written: " + args.output);
    return 0;
  }
  core::catch_signals();
  wait_for_a_run(args);
  // Between two runs of a comparison there is a moment in which all that are there are finished:
  // only when nothing has begun by the next look is it over.
  for (int finished = 0; finished < 2;) {
    finished = write_report(args, true, told) ? 0 : finished + 1;
    if (finished < 2)
      wait_or_stop(args.every, "report: stopped; " + args.output + " is complete up to now");
  }
  write_report(args, false, told);
  core::log_info("written: " + args.output + "; all runs are finished");
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* command = app.add_subcommand(
      "report", "Runs, comparisons and results of the simulators as one HTML file");
  command
      ->add_option("paths", args->paths,
                   "Run folders, folders of 'compare', files of 'simulate --json' and 'pipeline "
                   "--json'")
      ->required()
      ->type_name("DIR...");
  command->add_option("-o,--output", args->output, "File to write")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--title", args->title, "Heading of the page")
      ->type_name("TEXT")
      ->capture_default_str();
  auto* follow =
      command->add_flag("--follow", args->follow,
                        "Write the page again while runs go on; the open page loads itself again");
  add_number(*command, "--every", args->every, "With --follow: seconds between two looks", 1, 86400)
      ->needs(follow)
      ->capture_default_str();
  command->footer(
      "The file needs no server and no network. What cannot be read is left out and named in it.\n"
      "Charts of layers need 'simulate --per-layer --json', of pipelines 'pipeline --gantt "
      "--json'.");
  command->callback([args, &action] { action = [args] { return run_report(*args); }; });
}

}  // namespace adagp::apps
