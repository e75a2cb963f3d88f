// adagp sweep: many trainings that differ in some keys, each beside its controls.

#include "adagp/lab/experiment/sweep.h"

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/papers/study/sweep_points.h"
#include "commands.h"
#include "number_flag.h"
#include "run_lines.h"
#include "run_list_flags.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct SweepArguments {
  TrainFlags flags;
  experiment::SweepOptions options;
  RunListFlags list;
  std::string method, over, study, axes, controls = "bp,skip";
  int64_t random = 0;
  bool grid = false;
};

std::vector<study::SweepPoint> points_of(const SweepArguments& arguments,
                                         const config::RunConfig& config) {
  if (arguments.study.empty() == arguments.over.empty()) {
    throw UsageError(
        "sweep: expected --over \"key=value,value|key=...\" or --study schedules, one of them");
  }
  if (!arguments.study.empty()) {
    if (arguments.study != "schedules") {
      throw UsageError("--study: unknown study '" + arguments.study + "'" +
                       core::suggestion(arguments.study, {"schedules"}));
    }
    return study::schedule_points(config.epochs);
  }
  config::RunConfig scratch = config;
  core::Binding binding;
  bind(binding, scratch);
  return study::grid(study::parse_swept_keys(arguments.over, binding, experiment::unswept_keys()));
}

std::vector<std::string> controls_of(const std::string& text) {
  if (core::trim(text) == "none") return {};
  std::vector<std::string> names = study::parse_names(text, "--controls");
  for (const std::string& name : names) {
    if (name == "bp" || name == "skip") continue;
    throw UsageError("--controls " + text + ": " +
                     (name == "none" ? "'none' stands alone" : "unknown control '" + name + "'") +
                     "; expected bp, skip, bp,skip or none");
  }
  return names;
}

int run_sweep(SweepArguments& arguments) {
  if (!arguments.list.dry_run) core::catch_signals();
  experiment::SweepOptions& options = arguments.options;
  config::RunConfig config = arguments.flags.resolve_run();
  if (arguments.over.find("model.name") == std::string::npos) arguments.flags.refuse_unnamed();
  if (!arguments.method.empty()) config.method = arguments.method;
  options.named = !arguments.study.empty();
  options.points = points_of(arguments, config);
  if (arguments.random > 0) {
    options.points =
        study::draw_points(options.points, arguments.random, static_cast<uint64_t>(config.seed));
  }
  options.controls = controls_of(arguments.controls);
  options.select = !arguments.axes.empty();
  // Which schedule is best is also a question about the accelerator.
  if (options.named) options.axes.emplace_back("speedup");
  if (options.select) options.axes = report::parse_axes(arguments.axes, "top1");
  arguments.list.fill(options);
  if (options.select && (arguments.list.commands || options.sharing.shards > 1)) {
    throw UsageError(
        "--pareto chooses the later seeds by the first: the list has no shards; start the same "
        "command several times, or in a Slurm array with --shard 1/1");
  }
  if (arguments.list.commands) {
    arguments.list.print_commands(static_cast<size_t>(options.seeds));
    return 0;
  }
  warn_unused(arguments.flags.given(), experiment::sweep_runs(config, options));
  if (arguments.list.dry_run) {
    if (options.select) {
      core::log_info("--pareto: these are the runs of the first seed; they decide on the others");
    }
    experiment::TaskCache tasks;
    return arguments.list.print_plan(experiment::sweep_list(config, options, tasks), tasks, true);
  }
  core::stop_after(arguments.list.budget);
  const auto result = with_resume_advice(options.overwrite, kWithoutOverwrite,
                                         [&] { return experiment::sweep(config, options); });
  arguments.list.print(result.report);
  core::log_info("written: " + arguments.list.output + "/sweep.md, .json, .csv, .svg");
  arguments.list.tell_left(result.open);
  return 0;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<SweepArguments>();
  auto* command = app.add_subcommand(
      "sweep", "Train with many values of some keys, each beside backprop of equal cost and skip");
  arguments->flags.declare(*command, true);
  const auto option = [&](const std::string& name, auto& target, const std::string& about) {
    return command->add_option(name, target, about)->type_name("");
  };
  option("--method", arguments->method, "Method (adagp list methods)");
  option("--over", arguments->over,
         "Keys and values: \"schedule=10ep bp, 1:1;paper|predictor.channels=8..32*2|"
         "optim.lr=0.05,0.1\"");
  option("--study", arguments->study, "A named set of points: schedules");
  auto* grid = command->add_flag("--grid", arguments->grid, "All combinations (the default)");
  add_number(*command, "--random", arguments->random,
             "Number of combinations, drawn at random by --seed", 1, 10000)
      ->excludes(grid);
  option("--pareto", arguments->axes,
         "Axes of the front, as acc,seconds (also cost, speedup); after the first seed only the "
         "front and the next layer go on")
      ->excludes(grid);
  option("--controls", arguments->controls,
         "Beside each point: bp (backprop of equal cost), skip (its schedule without GP batches), "
         "or none")
      ->capture_default_str();
  arguments->list.declare_budget(*command);
  arguments->list.declare(*command, "runs/sweep");
  command->footer(
      "Examples:\n"
      "  adagp sweep configs/recipes/demo.toml --over \"predictor.channels=8..32*2\" --seeds 3\n"
      "  adagp sweep configs/recipes/cifar10/resnet18.toml --study schedules --budget 600\n"
      "Ctrl-C saves a checkpoint; the same command goes on from it. docs/sweep.md");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_sweep(*arguments); }; });
}

}  // namespace adagp::apps
