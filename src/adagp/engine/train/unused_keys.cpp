#include "adagp/engine/train/unused_keys.h"

#include <algorithm>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/models/model.h"

namespace adagp::train {
namespace {

bool names(const std::string& list, const std::string& key) {
  const auto parts = core::split(list, ' ');
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return part == key || (part.ends_with('.') && key.starts_with(part));
  });
}

// The parts of a joined method, those it mixes in, and what they do.
std::vector<std::string> facts_of_method(const config::RunConfig& config) {
  const method::MethodEntry entry = method::find_method(config.method);
  std::vector<std::string> facts = core::split(config.method, '+');
  if (entry.cheap == method::Cheap::kScheduled) facts.emplace_back("scheduled");
  if (method::needs_predictor(config)) facts.emplace_back("predicts");
  if (!entry.mixes) return facts;
  for (const std::string& step : entry.mixes(config)) facts.push_back(step);
  return facts;
}

// What a condition looks at: the method, the task, or the value of a key.
std::vector<std::string> values_of(const config::RunConfig& config, const core::Binding& binding,
                                   const std::string& by) {
  if (by == "method") return facts_of_method(config);
  if (by == "task") return {models::task_name(models::find(config.model.name).task)};
  for (const auto& field : binding.fields()) {
    if (field.key == by) return {*std::get<std::string*>(field.target)};
  }
  throw Error("table of keys: a condition on '" + by + "', which is no key");
}

constexpr const char* kReadByEvaluation =
    "model. data. detection. translation. eval_batch device threads precision deterministic "
    "cpu.convolution own_kernels augment.workers";

}  // namespace

std::string why_unused(const config::RunConfig& config, const std::string& key) {
  core::Binding binding;
  config::RunConfig copy = config;
  bind(binding, copy);
  for (const auto& condition : binding.field(key).conditions) {
    const auto values = values_of(copy, binding, condition.by);
    if (std::find_first_of(values.begin(), values.end(), condition.values.begin(),
                           condition.values.end()) != values.end()) {
      continue;
    }
    return core::cat(condition.by, " ", condition.by == "method" ? config.method : values.front());
  }
  return "";
}

std::string why_unused_in_evaluation(const config::RunConfig& config, const std::string& key) {
  core::Binding binding;
  config::RunConfig copy = config;
  bind(binding, copy);
  const auto& conditions = binding.field(key).conditions;
  const bool of_precision =
      std::any_of(conditions.begin(), conditions.end(),
                  [](const auto& condition) { return condition.by == "precision"; });
  if (!of_precision && !names(kReadByEvaluation, key)) {
    return key == "batch" ? "an evaluation: --set eval_batch=N" : "an evaluation";
  }
  return why_unused(config, key);
}

std::string unused_keys(const std::vector<GivenKey>& given,
                        const std::vector<config::RunConfig>& runs, WhyUnused why) {
  std::vector<std::pair<std::string, std::string>> found;  // reason, keys
  for (const auto& [key, where] : given) {
    std::vector<std::string> reasons;
    bool read = runs.empty();
    for (const config::RunConfig& run : runs) {
      const std::string reason = why(run, key);
      read = read || reason.empty();
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
        reasons.push_back(reason);
      }
    }
    if (read) continue;
    const std::string reason = core::join(reasons, ", ");
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const auto& entry) { return entry.first == reason; });
    if (same == found.end()) same = found.insert(found.end(), {reason, ""});
    same->second += (same->second.empty() ? "" : ", ") + where;
  }
  std::vector<std::string> sentences;
  for (const auto& [reason, keys] : found) sentences.push_back(keys + " (" + reason + ")");
  return sentences.empty() ? "" : "changes nothing here: " + core::join(sentences, "; ");
}

}  // namespace adagp::train
