// adagp report: runs, comparisons and results of the simulators as one HTML file; or on the
// terminal the runs that go on, or what the traces of a run hold.

#include <algorithm>
#include <memory>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/page.h"
#include "adagp/results/page/run_traces.h"
#include "commands.h"
#include "number_flag.h"
#include "watch.h"

namespace adagp::apps {
namespace {

struct ReportArgs {
  std::vector<std::string> paths;
  std::string output = "report.html", title = "adagp report";
  std::string plot, value = "x";
  bool follow = false, watch = false, once = false, trace = false, json = false;
  std::optional<int> every;

  int seconds() const { return every.value_or(watch ? 2 : 10); }
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
  if (reload) options.reload_seconds = args.seconds();
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

int print_trace(const ReportArgs& args) {
  if (args.paths.size() > 1) throw UsageError("report: --trace shows one run");
  const std::string& run = args.paths.front();
  const std::string picture =
      args.plot.empty() ? "" : report::svg(page::trace_map(run, args.value));
  core::print_result(args.json ? page::trace_info_json(run) : page::trace_info_text(run),
                     args.json);
  if (!args.plot.empty()) core::write_output(args.plot, picture);
  return 0;
}

int run_report(const ReportArgs& args) {
  if (args.every && !args.follow && !args.watch) {
    throw UsageError("report: --every needs --follow or --watch");
  }
  if (args.watch) return watch_runs(args.paths, args.once, args.seconds());
  if (args.trace) return print_trace(args);
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
      wait_or_stop(args.seconds(), "report: stopped; " + args.output + " is complete up to now");
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
  auto* output = command->add_option("-o,--output", args->output, "File to write")
                     ->type_name("FILE")
                     ->capture_default_str();
  auto* title = command->add_option("--title", args->title, "Heading of the page")
                    ->type_name("TEXT")
                    ->capture_default_str();
  auto* follow =
      command->add_flag("--follow", args->follow,
                        "Write the page again while runs go on; the open page loads itself again");
  auto* watch = command->add_flag(
      "--watch", args->watch,
      "Instead, in the terminal: the runs that are not finished, with epoch, score and time left");
  command->add_flag("--once", args->once, "--watch: print the table once; so does a pipe or a file")
      ->needs(watch);
  add_number(*command, "--every", args->every,
             "--follow, --watch: seconds between two looks (default: 10, 2)", 1, 86400);
  auto* trace = command->add_flag(
      "--trace", args->trace,
      "Instead, in the terminal: zeros and mantissa widths of a run's operands by layer and epoch");
  command->add_flag("--json", args->json, "--trace: JSON")->needs(trace);
  command->add_option("--plot", args->plot, "--trace: write a picture (SVG), layers by epochs")
      ->needs(trace);
  add_shown(*command, "--value", args->value,
            "--plot: zeros of x, dy or w (all three: zeros), or mantissa bits-w, bits-a, "
            "bits-g (all three: bits)")
      ->needs(trace);
  for (CLI::Option* other : {output, title, follow}) {
    watch->excludes(other);
    trace->excludes(other);
  }
  watch->excludes(trace);
  command->footer(
      "The file needs no server and no network. What cannot be read is left out and named in it.\n"
      "Charts of layers need 'simulate --per-layer --json', of pipelines 'pipeline --gantt "
      "--json'.\n"
      "--watch: the time left is that of the training alone, without evaluations. 'last record' "
      "tells a\nrun that stands still from one that goes on: a killed run is not finished either.");
  command->callback([args, &action] { action = [args] { return run_report(*args); }; });
}

}  // namespace adagp::apps
