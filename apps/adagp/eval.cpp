// adagp eval: accuracy of a run or of a weights file.

#include <cmath>
#include <memory>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/output.h"
#include "adagp/core/special_files.h"
#include "adagp/core/text.h"
#include "adagp/run/precision.h"
#include "adagp/run/weights.h"
#include "adagp/step/divergence.h"
#include "adagp/step/evaluate.h"
#include "adagp/step/session.h"
#include "adagp/task/task.h"
#include "adagp/task/weights_settings.h"
#include "adagp/train/build.h"
#include "commands.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct EvalArguments {
  TrainFlags flags;
  std::string what, logits, split = "test";
  bool best = false, json = false;
};

// The file to evaluate.
core::fs::path weights_file(const EvalArguments& arguments) {
  const core::fs::path what = arguments.what;
  if (!core::fs::exists(what)) throw DataError(what.string() + ": no such run folder or file");
  if (!core::fs::is_directory(what)) return what;
  const auto file = what / (arguments.best ? "best.safetensors" : "weights.safetensors");
  if (!core::fs::exists(file)) {
    throw DataError(file.string() + ": not there: is the run finished? The command that began it " +
                    "finishes it" +
                    (arguments.best ? "" : "; --best takes its best weights so far"));
  }
  core::require_regular_file(file);
  return file;
}

// What the command line leaves open is as in training, or as the weights file says.
config::RunConfig starting_point(const EvalArguments& arguments, const core::fs::path& file,
                                 const std::map<std::string, std::string>& metadata) {
  const run::ModelTag tag = run::from_metadata(metadata);
  config::RunConfig config;
  if (file != arguments.what) {
    config = run::read_config(arguments.what);
    config.device = "auto";  // it need not be the machine of the training
  }
  task::read_settings(metadata, file.string(), config);
  config.model.name = tag.name;
  config.model.form = tag.form.empty() ? "auto" : tag.form;
  config.model.classes = tag.classes;
  config.model.width_divisor = tag.width_divisor;
  run::read_metadata(metadata, config.model.transformer);
  return config;
}

// A file without metadata still shows its form and classes in its shapes; the data would only say
// how large the images are.
void fill_from_shapes(config::RunConfig& config, const io::TensorMap& tensors) {
  if (config.model.form != "auto" && config.model.classes != 0) return;
  const run::ModelTag tag = run::from_shapes(config.model.name, tensors);
  if (config.model.form == "auto" && !tag.form.empty()) config.model.form = tag.form;
  if (config.model.classes == 0) config.model.classes = tag.classes;
}

// Says what had to be guessed: other pixels give another score.
void tell_guesses(const config::RunConfig& given, const config::RunConfig& resolved,
                  const task::Task& task, const core::fs::path& file) {
  if (task.kind() == models::TaskKind::kTranslation) return;
  if (!given.data.mean.empty() && !given.data.std.empty()) return;
  const auto numbers = [](const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(core::shortest(value));
    return "[" + core::join(texts, ",") + "]";
  };
  core::log_warning(core::cat(
      file.string(),
      ": does not say how its images were normalised; assumed as usual for data set '",
      resolved.data.name, "': --set data.mean=", numbers(resolved.data.mean),
      " --set data.std=", numbers(resolved.data.std), ", images of ", task.input_name(resolved)));
}

// Weights that are finite can still give numbers that are not: looks for the batch and the layer.
[[noreturn]] void refuse_broken(step::Session& session, data::BatchSource& source, double loss,
                                const core::fs::path& file) {
  session.net->eval();
  std::string where;
  source.seek(0, 0);
  for (int64_t i = 0; i < source.batches_per_epoch(); ++i) {
    where = step::describe_divergence(*session.net, source.next().inputs);
    if (where.find("not finite") != std::string::npos) break;
  }
  throw DivergedError(core::cat(
      file.string(), ": the network's answers are not finite (loss ", loss, "), ", where,
      ": the training that wrote the weights diverged, or they belong to other inputs (check "
      "data.mean, data.std)"));
}

int run_eval(const EvalArguments& arguments) {
  const auto file = weights_file(arguments);
  const io::TensorFile weights = io::load_tensors(file);
  config::RunConfig config =
      arguments.flags.resolve(starting_point(arguments, file, weights.metadata));
  config.weights.clear();
  if (config.model.name.empty()) {
    throw UsageError(file.string() + ": does not name its network; add --model");
  }
  fill_from_shapes(config, weights.tensors);
  warn_unused(arguments.flags.given(), {config}, train::why_unused_in_evaluation);

  run::resolve_precision(config);
  train::set_threads(config);
  const auto task = task::open_task(config);
  if (!arguments.logits.empty() && task->kind() != models::TaskKind::kClassification) {
    throw UsageError("--logits: of classification only, and '" + config.data.name + "' is for " +
                     models::task_name(task->kind()));
  }
  task->check(weights.metadata, file.string());
  const config::RunConfig given = config;
  task->resolve(config);
  tell_guesses(given, config, *task, file);
  task::compare_image_sizes(weights.metadata, file.string(), config, *task);
  run::check_fits(config.model.name, task->model_options(config), weights.tensors, file.string());
  auto net = task::build_net(config, *task);
  run::load_state_dict(*net, weights.tensors, file.string());
  step::Session session = step::make_session(config, task, net);
  const auto use = arguments.split == "train" ? task::Use::kTrainInOrder : task::Use::kTest;
  const auto source = task->batches(config, use, session.device);
  task::EvaluationRequest request;
  request.keep_logits = !arguments.logits.empty();
  const auto found = step::evaluate(session, *source, nullptr, request);
  if (!std::isfinite(found.loss)) refuse_broken(session, *source, found.loss, file);
  if (request.keep_logits) {
    io::save_tensors(core::behind_links(arguments.logits), {{"logits", found.logits}});
  }
  if (arguments.json) {
    nlohmann::json json{{"model", config.model.name},
                        {"data", config.data.name},
                        {task->unit(), found.examples},
                        {"loss", found.loss}};
    for (const auto& [name, value] : found.figures) json[name] = value;
    core::print_data(json.dump(2) + "\n");
  } else {
    std::string line = core::cat(config.model.name, " on ", config.data.name, " (", found.examples,
                                 " ", task->unit(), "):");
    for (const auto& figure : task->figures()) {
      const auto value = found.figures.find(figure.name);
      if (value == found.figures.end()) continue;
      line += core::cat(" ", figure.label, " ", core::fixed(value->second, 2),
                        figure.percent ? " %," : ",");
    }
    core::print(core::cat(line, " loss ", core::fixed(found.loss, 4), "\n"));
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<EvalArguments>();
  auto* command = app.add_subcommand("eval", "Accuracy of a run or of a weights file");
  command->add_option("what", arguments->what, "Run folder or safetensors file")
      ->required()
      ->type_name("RUN|FILE");
  arguments->flags.declare(*command, false);
  command->add_option("--split", arguments->split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  command->add_option("--logits", arguments->logits, "Write the logits in the data's order")
      ->type_name("FILE");
  command->add_flag("--best", arguments->best, "A run's best weights instead of its last");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_eval(*arguments); }; });
}

}  // namespace adagp::apps
