// adagp reproduce: published tables beside ours, or a finished run made again.

#include <algorithm>
#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/lab/experiment/reproduce.h"
#include "adagp/lab/experiment/rerun.h"
#include "adagp/papers/study/recipes.h"
#include "commands.h"
#include "run_lines.h"
#include "run_list_flags.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct ReproduceArguments {
  TrainFlags flags;
  experiment::ReproduceOptions options;
  RunListFlags list;
  std::string target;
  bool seeds_given = false, output_given = false;
};

struct Target {
  const char* name;
  const char* recipe;
  int64_t quick_epochs;
  const char* quick_schedule;  // of so many epochs; null: the recipe's schedule scales with them
  experiment::Reproduced (*run)(const config::RunConfig&, const experiment::ReproduceOptions&);
  std::vector<experiment::Job> (*list)(const config::RunConfig&,
                                       const experiment::ReproduceOptions&);
};
constexpr Target kTargets[] = {
    {"paper-table1", study::kPaperRecipe, 5, nullptr, experiment::reproduce_table1,
     experiment::table1_list},
    {"paper-figures", study::kPaperRecipe, 5, nullptr, experiment::reproduce_figures,
     experiment::figures_list},
    {"review", study::kPaperRecipe, 5, nullptr, experiment::reproduce_review,
     [](const config::RunConfig&, const experiment::ReproduceOptions&) {
       return std::vector<experiment::Job>{};  // it trains nothing
     }},
    {"term-project", study::kTermProjectRecipe, 10, study::kTermProjectQuickSchedule,
     experiment::reproduce_term_project, experiment::term_project_list},
};

const Target& find_target(const std::string& name) {
  std::vector<std::string> names;
  for (const Target& target : kTargets) {
    if (name == target.name) return target;
    names.emplace_back(target.name);
  }
  throw UsageError("reproduce: unknown target '" + name + "'" + core::suggestion(name, names) +
                   ", and no folder of a run");
}

// The recipe of the source, then what the user changed of it.
config::RunConfig recipe_of(const Target& target, const ReproduceArguments& arguments) {
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  binding.load_toml(target.recipe, target.name);
  if (arguments.options.quick) {
    config.epochs = target.quick_epochs;
    const bool as_many = arguments.flags.resolve(config).epochs == target.quick_epochs;
    if (target.quick_schedule != nullptr && as_many) config.schedule = target.quick_schedule;
  }
  // The paper's predictor has stairs: after a third and two thirds of the run.
  const int64_t epochs = arguments.flags.resolve(config).epochs;
  if (target.recipe == study::kPaperRecipe && epochs >= 3) {
    config.predictor.milestones = {core::cat(epochs / 3, "ep"), core::cat(2 * epochs / 3, "ep")};
  }
  return arguments.flags.resolve(config);
}

void refuse_own_keys(const TrainFlags& flags) {
  for (const train::GivenKey& given : flags.given()) {
    if (given.key == "model.name") {
      throw UsageError(given.where + ": reproduce trains several networks; use --networks");
    }
    if (given.key == "method") {
      throw UsageError(given.where +
                       ": reproduce trains by several methods of its own; use "
                       "adagp compare for others");
    }
  }
}

// The review reads what the other targets left beside its folder.
void refuse_all_keys(const TrainFlags& flags) {
  const auto given = flags.given();
  if (given.empty()) return;
  throw UsageError(given.front().where +
                   ": reproduce review trains nothing; give it to the targets whose runs it reads");
}

// A run is made again as it was.
void refuse_flags_of_targets(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "target" && name != "--output" && name != "--json") {
      throw UsageError("reproduce: " + name +
                       ": a run is made again as it was; it takes --output and --json alone");
    }
  }
}

int run_reproduce(ReproduceArguments& arguments) {
  if (!arguments.list.dry_run) core::catch_signals();
  const Target& target = find_target(arguments.target);
  refuse_own_keys(arguments.flags);
  if (target.run == experiment::reproduce_review) refuse_all_keys(arguments.flags);
  experiment::ReproduceOptions& options = arguments.options;
  RunListFlags& list = arguments.list;
  if (options.quick && !arguments.seeds_given) list.seeds = 1;
  if (!arguments.output_given) list.output = "runs/reproduce/" + arguments.target;
  list.fill(options);
  const config::RunConfig config = recipe_of(target, arguments);
  if (list.commands) {
    const size_t units = experiment::places_of_units(target.list(config, options)).size();
    list.print_commands(std::max<size_t>(units, 1));
    return 0;
  }
  if (list.dry_run) {
    experiment::TaskCache tasks;
    return list.print_plan(target.list(config, options), tasks, true);
  }
  core::stop_after(list.budget);
  const auto result = with_resume_advice(options.overwrite, kWithoutOverwrite,
                                         [&] { return target.run(config, options); });
  core::print_result(list.json ? result.json : result.text, list.json);
  core::log_info("written in " + list.output + ": " + core::join(result.files, ", "));
  list.tell_left(result.open);
  return 0;
}

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

}  // namespace

void add_reproduce(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ReproduceArguments>();
  auto* command = app.add_subcommand(
      "reproduce", "Train what was published, or a finished run again, and compare");
  command
      ->add_option(
          "target", arguments->target,
          "paper-table1, paper-figures, term-project, review, or the folder of a finished run, "
          "which is made again and compared")
      ->required()
      ->type_name("");
  arguments->flags.declare(*command, false);
  command
      ->add_option("--networks", arguments->options.networks,
                   "Networks, comma-separated (default: the target's)")
      ->type_name("");
  command->add_flag("--quick", arguments->options.quick, "Few networks, few epochs, one seed");
  arguments->list.declare_budget(*command);
  arguments->list.declare(*command, "runs/reproduce/TARGET");
  command->footer(
      "Example, ten minutes at a time until it says that no run is left:\n"
      "  adagp reproduce paper-table1 --data-dir DIR --networks vgg13,resnet50 --epochs 30 "
      "--precision bf16 --budget 580\n"
      "docs/questions.md lists what each target answers.\n"
      "A run is made again in RUN-rerun or the folder of -o. A warning says where version, machine "
      "or\ndata are not as they were. Exit code 1: a run on a CPU gave other weights although "
      "nothing that was\nrecorded differs.");
  command->callback([arguments, command, &action] {
    arguments->seeds_given = command->count("--seeds") > 0;
    arguments->output_given = command->count("--output") > 0;
    std::error_code ignored;
    const bool known =
        std::any_of(std::begin(kTargets), std::end(kTargets),
                    [&](const Target& one) { return arguments->target == one.name; });
    if (!known && core::fs::is_directory(arguments->target, ignored)) {
      action = [arguments, command] {
        refuse_flags_of_targets(*command);
        const std::string output = arguments->output_given ? arguments->list.output : "";
        return run_rerun(arguments->target, output, arguments->list.json);
      };
      return;
    }
    action = [arguments] { return run_reproduce(*arguments); };
  });
}

// adagp reproduce RUN: a finished run made again, and whether the result is the same.
int run_rerun(const std::string& run, const std::string& output, bool json) {
  core::catch_signals();
  const auto result = experiment::rerun(run, output.empty() ? beside(run) : core::fs::path(output));
  core::print_result(json ? result.to_json().dump(2) + "\n" : result.text(), json);
  return result.as_expected() ? 0 : 1;
}

}  // namespace adagp::apps
