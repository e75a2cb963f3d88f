// adagp rerun: a finished run made again, and whether the result is the same.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/lab/experiment/rerun.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct RerunArguments {
  std::string run, output;
  bool json = false;
};

// "runs/a-rerun" for "runs/a", "runs/a/" and, called in it, ".".
core::fs::path beside(const core::fs::path& run) {
  core::fs::path folder = run;
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/a/"
  if (folder.filename() == "." || folder.filename() == "..") {
    std::error_code error;
    folder = core::fs::canonical(folder, error);
    if (error) throw DataError(run.string() + ": cannot be opened: " + error.message());
  }
  return folder.string() + "-rerun";
}

int run_rerun(const RerunArguments& arguments) {
  core::catch_signals();
  const auto result =
      experiment::rerun(arguments.run, arguments.output.empty() ? beside(arguments.run)
                                                                : core::fs::path(arguments.output));
  core::print_result(arguments.json ? result.to_json().dump(2) + "\n" : result.text(),
                     arguments.json);
  return result.as_expected() ? 0 : 1;
}

}  // namespace

void add_rerun(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RerunArguments>();
  auto* command = app.add_subcommand("rerun", "Make a finished run again and compare the results");
  command->add_option("run", arguments->run, "Folder of a finished run")
      ->type_name("RUN")
      ->required();
  command
      ->add_option("-o,--output", arguments->output, "Folder of the new run (default: RUN-rerun)")
      ->type_name("DIR");
  command->add_flag("--json", arguments->json, "JSON");
  command->footer(
      "Warns where version, machine or data are not as they were. Exit code 1: a run on a CPU "
      "gave\n"
      "other weights although nothing that was recorded differs.");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_rerun(*arguments); }; });
}

}  // namespace adagp::apps
