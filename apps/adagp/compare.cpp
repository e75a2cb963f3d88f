// adagp compare: methods x seeds in one table.

#include <cstdio>
#include <memory>

#include "adagp/core/error.h"
#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/report/compare.h"
#include "adagp/train/compare.h"
#include "commands.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct CompareArguments {
  TrainFlags flags;
  train::CompareOptions options;
  std::string output = "runs/compare";
  bool json = false;
};

int run_compare(CompareArguments& arguments) {
  core::catch_signals();
  arguments.options.folder = arguments.output;
  const auto result = train::compare_methods(arguments.flags.resolve(), arguments.options);
  std::puts(
      (arguments.json ? report::to_json(result.table) : report::to_console(result.table)).c_str());
  core::log_info("written: " + arguments.output + "/compare.md, compare.json, compare.csv");
  if (!result.diverged.empty()) {
    throw DivergedError(core::cat(result.diverged.size(),
                                  " of the runs diverged and are not in the table:\n  ",
                                  core::join(result.diverged, "\n  ")));
  }
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  auto* command = app.add_subcommand("compare", "Train by several methods and seeds, and compare");
  arguments->flags.declare(*command, true);
  command
      ->add_option("--methods", arguments->options.methods, "Comma-separated (adagp list methods)")
      ->delimiter(',')
      ->type_name("")
      ->capture_default_str();
  command->add_option("--seeds", arguments->options.seeds, "How many, from --seed on")
      ->check(CLI::Range(1, 1000))
      ->type_name("")
      ->capture_default_str();
  command
      ->add_option("-o,--output", arguments->output,
                   "Folder of the runs; the same command resumes it")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--overwrite", arguments->options.overwrite, "Run everything anew");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace adagp::apps
