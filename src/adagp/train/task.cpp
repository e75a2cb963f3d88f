#include "adagp/train/task.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/data/dataset.h"
#include "adagp/train/out_of_memory.h"
#include "adagp/train/precision.h"
#include "adagp/train/weights_settings.h"

namespace adagp::train {

at::Tensor Task::losses(const models::Tensors&, const data::Tensors&) const {
  throw Error(core::cat("task ", models::task_name(kind()), " has no losses by example"));
}

namespace {

std::string a_network_for(const std::string& task) {
  for (const auto& entry : models::registry()) {
    if (models::task_name(entry.task) == task) return entry.name;
  }
  return "NAME";
}

std::string a_data_set_for(const std::string& task) {
  for (const auto& entry : data::registry()) {
    if (entry.task == task) return entry.name;
  }
  return "NAME";
}

}  // namespace

std::shared_ptr<const Task> open_task(const Config& given) {
  Config config = given;
  read_normalisation(config);  // pixels as the weights know them, where nothing else is said
  if (config.data.limit < 0 || config.data.test_limit < 0) {
    throw UsageError("data.limit, data.test_limit: expected 0 (all) or more");
  }
  const models::TaskKind asked = models::find(config.model.name).task;
  const data::Entry& entry = data::find(config.data.name);
  if (entry.task != models::task_name(asked)) {
    throw UsageError(core::cat("network '", config.model.name, "' is for ",
                               models::task_name(asked), ", data set '", entry.name, "' for ",
                               entry.task, "; use --model ", a_network_for(entry.task),
                               " (adagp list models) or --data ",
                               a_data_set_for(models::task_name(asked)), " (adagp list data)"));
  }
  switch (asked) {
    case models::TaskKind::kDetection:
      return open_detection(config);
    case models::TaskKind::kTranslation:
      return open_translation(config);
    default:
      return open_classification(config);
  }
}

Seen forward_all(Session& s, data::BatchSource& source, StepGraph* graph, const See& see) {
  const at::NoGradGuard no_grad;
  const bool was_training = s.net->is_training();
  s.net->eval();
  // The graph remembers where its figures go: one tally, lent by the session and given back.
  const std::vector<double> training = s.tally.state();
  s.tally.reset();
  const auto forward = [&](const data::Batch& batch) {
    StepResult result;
    {
      const AutocastScope autocast(s.device, s.bf16());
      result.outputs = s.net->run(batch.inputs);
    }
    result.loss = s.loss(result.outputs, batch, false).value;
    return result;
  };
  Seen out;
  source.seek(0, 0);
  for (int64_t i = 0; i < source.batches_per_epoch(); ++i) {
    const data::Batch batch = source.next();
    const StepResult result = run_in_memory(s, "evaluation", batch, forward, [&] {
      return graph != nullptr ? graph->run(s, batch, forward) : forward(batch);
    });
    out.examples += batch.size();
    if (see) see(batch, result.outputs);
  }
  s.net->train(was_training);
  out.tally = s.tally.read();
  s.tally.reset();
  s.tally.load_state(training);
  return out;
}

}  // namespace adagp::train
