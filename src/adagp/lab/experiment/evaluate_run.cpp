#include "adagp/lab/experiment/evaluate_run.h"

#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/step/divergence.h"
#include "adagp/engine/step/evaluate.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/task/network.h"
#include "adagp/engine/task/weights_settings.h"
#include "adagp/engine/train/build.h"

namespace adagp::experiment {
namespace {

core::fs::path weights_file(const core::fs::path& what, bool best) {
  if (!core::fs::exists(what)) throw DataError(what.string() + ": no such run folder or file");
  if (!core::fs::is_directory(what)) return what;
  const auto file = what / (best ? "best.safetensors" : "weights.safetensors");
  if (!core::fs::exists(file)) {
    throw DataError(file.string() + ": not there: is the run finished? The command that began it " +
                    "finishes it" + (best ? "" : "; --best takes its best weights so far"));
  }
  core::require_regular_file(file);
  return file;
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

// Finite weights can still give outputs that are not finite: looks for the batch and the layer.
[[noreturn]] void throw_not_finite(step::Session& session, data::BatchSource& source, double loss,
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

// The task with `config` resolved for it. Refuses what does not fit the weights before the network
// is built.
task::TaskPtr open_task_for(config::RunConfig& config, const SavedWeights& weights,
                            const EvaluateOptions& options) {
  const auto task = task::open_task(config);
  if (options.keep_logits && task->kind() != models::TaskKind::kClassification) {
    throw UsageError("--logits: of classification only, and '" + config.data.name + "' is for " +
                     models::task_name(task->kind()));
  }
  const std::string file = weights.file.string();
  const auto& metadata = weights.content.metadata;
  task->check(metadata, file);
  const config::RunConfig given = config;
  task->resolve(config);
  tell_guesses(given, config, *task, weights.file);
  task::compare_image_sizes(metadata, file, config, *task);
  run::check_fits(config.model.name, task->model_options(config), weights.content.tensors, file);
  return task;
}

}  // namespace

SavedWeights open_weights(const core::fs::path& what, bool best) {
  SavedWeights out;
  out.file = weights_file(what, best);
  out.content = io::load_tensors(out.file);
  const auto& metadata = out.content.metadata;
  const run::ModelTag tag = run::from_metadata(metadata);
  if (out.file != what) {
    out.config = run::read_config(what);
    out.config.device = "auto";  // it need not be the machine of the training
  }
  task::read_settings(metadata, out.file.string(), out.config);
  auto& model = out.config.model;
  model.name = tag.name;
  model.form = tag.form.empty() ? "auto" : tag.form;
  model.classes = tag.classes;
  model.width_divisor = tag.width_divisor;
  model.duplex = tag.duplex;
  run::read_metadata(metadata, model.transformer);
  return out;
}

void complete_config(config::RunConfig& config, const SavedWeights& weights) {
  config.weights.clear();
  auto& model = config.model;
  model.backbone_weights.clear();
  if (model.name.empty()) {
    throw UsageError(weights.file.string() + ": does not name its network; add --model");
  }
  if (model.form != "auto" && model.classes != 0) return;
  // The data would only say how large the images are.
  const run::ModelTag tag = run::from_shapes(model.name, weights.content.tensors);
  if (model.form == "auto" && !tag.form.empty()) model.form = tag.form;
  if (model.classes == 0) model.classes = tag.classes;
}

RunEvaluation evaluate_run(config::RunConfig config, const SavedWeights& weights,
                           const EvaluateOptions& options) {
  run::resolve_precision(config);
  train::set_threads(config);
  const auto task = open_task_for(config, weights, options);
  auto net = task::build_net(config, *task);
  run::load_state_dict(*net, weights.content.tensors, weights.file.string());
  step::Session session = step::make_session(config, task, net);
  for (const auto& part : session.parts) {
    part->read(weights.content.metadata, weights.file.string());
  }
  const auto use = options.train_split ? task::Use::kTrainInOrder : task::Use::kTest;
  const auto source = task->batches(config, use, session.device);
  task::EvaluationRequest request;
  request.keep_logits = options.keep_logits;
  RunEvaluation out{config.model.name, config.data.name, task->unit(), task->figures(),
                    step::evaluate(session, *source, nullptr, request)};
  const double loss = out.evaluation.loss;
  if (!std::isfinite(loss)) throw_not_finite(session, *source, loss, weights.file);
  return out;
}

nlohmann::json RunEvaluation::to_json() const {
  nlohmann::json json{
      {"model", model}, {"data", data}, {unit, evaluation.examples}, {"loss", evaluation.loss}};
  for (const auto& [name, value] : evaluation.figures) json[name] = value;
  return json;
}

std::string RunEvaluation::text() const {
  std::string line = core::cat(model, " on ", data, " (", evaluation.examples, " ", unit, "):");
  for (const auto& figure : figures) {
    const auto value = evaluation.figures.find(figure.name);
    if (value == evaluation.figures.end()) continue;
    line += core::cat(" ", figure.label, " ", core::fixed(value->second, 2),
                      figure.percent ? " %," : ",");
  }
  return core::cat(line, " loss ", core::fixed(evaluation.loss, 4));
}

}  // namespace adagp::experiment
