#include "adagp/engine/task/task.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/task/weights_settings.h"

namespace adagp::task {

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
    if (entry.task() == task) return entry.name;
  }
  return "NAME";
}

}  // namespace

std::shared_ptr<const Task> open_task(const config::RunConfig& given) {
  config::RunConfig config = given;
  read_normalisation(config);  // pixels as the weights know them, where nothing else is said
  if (config.data.limit < 0 || config.data.test_limit < 0) {
    throw UsageError("data.limit, data.test_limit: expected 0 (all) or more");
  }
  const models::TaskKind asked = models::find(config.model.name).task;
  const data::Entry& entry = data::find(config.data.name);
  if (entry.task() != models::task_name(asked)) {
    throw UsageError(core::cat("network '", config.model.name, "' is for ",
                               models::task_name(asked), ", data set '", entry.name, "' for ",
                               entry.task(), "; use --model ", a_network_for(entry.task()),
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

}  // namespace adagp::task
