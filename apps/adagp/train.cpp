// adagp train: one run.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/build.h"
#include "adagp/lab/experiment/dry_run.h"
#include "adagp/lab/experiment/index_lists.h"
#include "adagp/teams/comm/rank_info.h"
#include "commands.h"
#include "run_lines.h"
#include "train_flags.h"
#include "train_parallel.h"

namespace adagp::apps {
namespace {

struct TrainArguments {
  TrainFlags flags;
  std::string method;
  std::string output, parallel;
  std::string losses;  // a file, for --indices
  bool dry_run = false, indices = false, overwrite = false, json = false;
};

int run_train(const TrainArguments& arguments) {
  // Before anything is read. Processes of --parallel and what only prints have handlers of their
  // own or none.
  if (!arguments.dry_run && !arguments.indices && arguments.parallel.empty()) {
    core::catch_signals();
  }
  config::RunConfig config = arguments.flags.resolve_run();
  arguments.flags.refuse_unnamed();
  if (!arguments.method.empty()) config.method = arguments.method;
  train::check_names(config);
  if (comm::speaks_for_all()) {
    warn_unused(arguments.flags.given(), {config});
  }
  if (!arguments.losses.empty() && !arguments.indices) {
    throw UsageError("--losses FILE: it is for --dry-run --indices");
  }
  if (arguments.indices) {
    if (!arguments.dry_run) throw UsageError("--indices: it is for --dry-run");
    experiment::print_index_lists(config, arguments.losses, core::print_data);
    return 0;
  }
  if (arguments.dry_run) {
    const auto plan = experiment::dry_run(config);
    core::print_result((arguments.json ? plan.to_json().dump(2) : plan.text()) + "\n",
                       arguments.json);
    return 0;
  }
  const std::string folder = arguments.output.empty()
                                 ? core::cat("runs/", config.model.name, "-", config.data.name, "-",
                                             config.method, "-seed", config.seed)
                                 : arguments.output;
  if (!arguments.parallel.empty()) {
    return train_parallel(config,
                          {arguments.parallel, folder, arguments.overwrite, arguments.json});
  }
  const RunLines lines(folder, arguments.overwrite);
  lines.begin(config);
  const report::Summary summary = with_resume_advice(arguments.overwrite, kWithoutOverwrite, [&] {
    return train::train(config, folder, arguments.overwrite);
  });
  core::print_result(
      (arguments.json ? summary.to_json().dump(2) : report::one_line(summary)) + "\n",
      arguments.json);
  lines.end();
  return 0;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TrainArguments>();
  auto* command = app.add_subcommand("train", "Train one network by one method");
  arguments->flags.declare(*command, true);
  command
      ->add_option("--method", arguments->method,
                   "Method (adagp list methods), or a step and a rule: progressive+stored-loss")
      ->type_name("");
  command->add_option("-o,--output", arguments->output, "Run folder; the same command resumes it")
      ->type_name("DIR")
      ->default_str("runs/MODEL-DATA-METHOD-seedN");
  command->add_option("--parallel", arguments->parallel, parallel_help())->type_name("SPEC");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Print steps, memory and estimated time; train nothing");
  command->add_flag("--indices", arguments->indices,
                    "With --dry-run: the examples of every batch, a JSON object a line");
  command
      ->add_option("--losses", arguments->losses,
                   "With --indices: a file of the examples' losses, a number a line, for rules")
      ->type_name("FILE");
  command->add_flag("--overwrite", arguments->overwrite, "Start anew in a folder that holds a run");
  command->add_flag("--json", arguments->json, "Print the summary as JSON");
  command->footer(
      "Examples:\n"
      "  adagp train --data synthetic --model vgg8s --method adagp --epochs 3 -o runs/a\n"
      "  adagp train configs/recipes/cifar10/vgg13_bn.toml --data-dir DIR --precision bf16\n"
      "Ctrl-C saves a checkpoint; the same command goes on from it.");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_train(*arguments); }; });
}

}  // namespace adagp::apps
