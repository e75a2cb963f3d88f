#include "adagp/lab/experiment/task_cache.h"

#include "adagp/base/core/text.h"
#include "adagp/engine/models/model.h"

namespace adagp::experiment {
namespace {

// Everything that open_task() may read. Classification reads its network's task alone.
std::string data_key(config::RunConfig config) {
  const models::TaskKind kind = models::find(config.model.name).task;
  core::Binding binding;
  bind(binding, config);
  std::string out = models::task_name(kind);
  for (const auto& field : binding.fields()) {
    const auto begins = [&](const char* group) { return field.key.starts_with(group); };
    const bool read = begins("data.") || begins("translation.") || begins("detection.") ||
                      field.key == "weights" ||
                      (begins("model.") && kind != models::TaskKind::kClassification);
    if (read) out += core::cat("\n", field.key, "=", core::Binding::value_text(field));
  }
  return out;
}

}  // namespace

task::TaskPtr TaskCache::open(const config::RunConfig& config) {
  const std::string key = data_key(config);
  if (!task_ || key != key_) {
    task_.reset();  // not two at once
    task_ = task::open_task(config);
    key_ = key;
  }
  return task_;
}

}  // namespace adagp::experiment
