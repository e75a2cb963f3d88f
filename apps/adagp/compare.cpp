// adagp compare: methods x seeds in one table.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/build.h"
#include "adagp/lab/experiment/budget.h"
#include "adagp/lab/experiment/compare.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/compare.h"
#include "commands.h"
#include "number_flag.h"
#include "run_lines.h"
#include "run_list_flags.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

constexpr const char* kRunsNotRedone =
    "the same command without --overwrite goes on from there, with the old results of the runs "
    "that were not redone yet";

struct CompareArguments {
  TrainFlags flags;
  experiment::CompareOptions options;
  experiment::BudgetOptions budget;
  RunListFlags list;
  bool by_budget = false, methods_given = false;
};

// "bp,progressive[low_res.sizes=[16,32]]" are two.
std::vector<std::string> split_methods(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& text : given) {
    for (const std::string& method : study::split_outside(text, ',')) out.push_back(method);
  }
  return out;
}

void fail_if_any(const std::vector<std::string>& diverged) {
  if (diverged.empty()) return;
  throw DivergedError(core::cat(diverged.size(), diverged.size() == 1 ? " run" : " runs",
                                " diverged and count for nothing:\n  ",
                                core::join(diverged, "\n  ")));
}

// One configuration for each method.
std::vector<config::RunConfig> runs_of(const config::RunConfig& config,
                                       const std::vector<std::string>& methods) {
  train::check_names(config);
  std::vector<config::RunConfig> runs;
  for (const std::string& method : methods) {
    if (method.find_first_of("@[") != std::string::npos) return {};  // refused in a moment
    method::find_method(method);
    runs.push_back(config);
    runs.back().method = method;
  }
  return runs;
}

// A unit is a seed with all its methods.
int print_seeds(const RunListFlags& list) {
  list.print_commands(static_cast<size_t>(list.seeds));
  return 0;
}

int print_plan(const RunListFlags& list, const std::vector<experiment::Job>& jobs) {
  experiment::TaskCache tasks;
  return list.print_plan(jobs, tasks, false);
}

int run_budget(CompareArguments& arguments) {
  experiment::BudgetOptions options = arguments.budget;
  if (arguments.methods_given) options.methods = arguments.options.methods;
  if (options.methods.empty()) options.methods = {"bp", "progressive", "stored-loss", "adagp"};
  arguments.list.fill(options);
  const config::RunConfig config = arguments.flags.resolve_run();
  arguments.flags.refuse_unnamed();
  const std::vector<experiment::Job> jobs = experiment::budget_list(config, options);
  if (arguments.list.commands) return print_seeds(arguments.list);
  std::vector<config::RunConfig> runs;
  for (const experiment::Job& job : jobs) runs.push_back(job.config);
  warn_unused(arguments.flags.given(), runs);
  if (arguments.list.dry_run) return print_plan(arguments.list, jobs);
  const auto result = with_resume_advice(options.overwrite, kRunsNotRedone, [&] {
    return experiment::compare_budgets(config, options);
  });
  if (result.report.runs.empty()) {
    core::log_info("no run of bp is finished yet: no table");
  } else {
    arguments.list.print(result.report);
    core::log_info("written: " + arguments.list.output + "/budget.md, .json, .csv, .svg");
  }
  arguments.list.tell_left(result.open);
  fail_if_any(result.diverged);
  return 0;
}

int run_compare(CompareArguments& arguments) {
  if (!arguments.list.dry_run) core::catch_signals();
  if (arguments.by_budget) return run_budget(arguments);
  arguments.list.fill(arguments.options);
  const config::RunConfig config = arguments.flags.resolve_run();
  arguments.flags.refuse_unnamed();
  const auto runs = runs_of(config, arguments.options.methods);
  if (arguments.list.commands) return print_seeds(arguments.list);
  warn_unused(arguments.flags.given(), runs);
  if (arguments.list.dry_run) {
    return print_plan(arguments.list, experiment::compare_list(config, arguments.options));
  }
  const auto result = with_resume_advice(arguments.options.overwrite, kRunsNotRedone, [&] {
    return experiment::compare_methods(config, arguments.options);
  });
  arguments.list.print(result.table);
  core::log_info("written: " + arguments.list.output + "/compare.md, compare.json, compare.csv");
  arguments.list.tell_left(result.open);
  fail_if_any(result.diverged);
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  auto* command = app.add_subcommand("compare", "Train by several methods and seeds, and compare");
  arguments->flags.declare(*command, true);
  auto* methods =
      command->add_option("--methods", arguments->options.methods,
                          "Methods, comma-separated (adagp list methods); with --budget also "
                          "\"progressive@20/24\" and \"stored-loss[stored_loss.power=0.5]@22\"");
  methods->type_name("")->default_str(core::join(arguments->options.methods, ",") +
                                      "; with --budget bp,progressive,stored-loss,adagp");
  auto* budget = command->add_flag(
      "--budget", arguments->by_budget,
      "Methods and backprop at several lengths: points above backprop of equal cost and time");
  budget->excludes(command->get_option("--epochs"));
  const auto list = [&](const std::string& name, auto& target, const std::string& about) {
    add_number(*command, name, target, about, 1, 1'000'000)
        ->delimiter(',')
        ->needs(budget)
        ->type_name("NUMBERS")
        ->capture_default_str();
  };
  list("--budget-epochs", arguments->budget.epochs,
       "With --budget: lengths of bp and of methods without '@20/24'");
  list("--budget-batches", arguments->budget.batches,
       "With --budget: batch sizes of bp beside --batch");
  list("--targets", arguments->budget.targets,
       "With --budget: lengths of bp whose score is to be reached; by default 15 and 30, where bp "
       "has them, else its longest");
  add_number(*command, "--control-seeds", arguments->budget.control_seeds,
             "With --budget: seeds of bp at other batch sizes; 0 = --seeds", 0, 1000)
      ->needs(budget)
      ->capture_default_str();
  arguments->list.declare(*command, "runs/compare");
  command->callback([arguments, methods, &action] {
    arguments->methods_given = methods->count() > 0;
    arguments->options.methods = split_methods(arguments->options.methods);
    action = [arguments] { return run_compare(*arguments); };
  });
}

}  // namespace adagp::apps
