// adagp eval: accuracy of a run or of a weights file.

#include <memory>

#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/lab/experiment/evaluate_run.h"
#include "commands.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct EvalArguments {
  TrainFlags flags;
  std::string what, logits, split = "test";
  bool best = false, json = false;
};

int run_eval(const EvalArguments& arguments) {
  const auto weights = experiment::open_weights(arguments.what, arguments.best);
  config::RunConfig config = arguments.flags.resolve(weights.config);
  experiment::complete_config(config, weights);
  warn_unused(arguments.flags.given(), {config}, train::why_unused_in_evaluation);

  experiment::EvaluateOptions options;
  options.train_split = arguments.split == "train";
  options.keep_logits = !arguments.logits.empty();
  const auto found = experiment::evaluate_run(config, weights, options);
  if (options.keep_logits) {
    io::save_tensors(core::behind_links(arguments.logits), {{"logits", found.evaluation.logits}});
  }
  core::print_result((arguments.json ? found.to_json().dump(2) : found.text()) + "\n",
                     arguments.json);
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<EvalArguments>();
  auto* command = app.add_subcommand("eval", "Accuracy of a run or of a weights file");
  command->add_option("run", arguments->what, "Run folder or safetensors file")
      ->required()
      ->type_name("RUN|FILE");
  arguments->flags.declare(*command, false);
  command->add_option("--split", arguments->split, "Examples to evaluate on: test or train")
      ->check(CLI::IsMember({"test", "train"}));
  command->add_option("--logits", arguments->logits, "Write the logits in the data's order")
      ->type_name("FILE");
  command->add_flag("--best", arguments->best, "A run's best weights instead of its last");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_eval(*arguments); }; });
}

}  // namespace adagp::apps
