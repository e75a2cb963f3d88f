#include "adagp/engine/method/table.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/entries.h"

namespace adagp::method {

namespace {

std::vector<MethodEntry>& entries_of_all() {
  static std::vector<MethodEntry> table{
#define ADAGP_CALL(name) entries::name(),
      ADAGP_METHODS(ADAGP_CALL)
#undef ADAGP_CALL
  };
  return table;
}

const MethodEntry& find_part(const std::string& name) {
  const auto is_called = [&](const auto& entry) { return entry.name == name; };
  if (std::ranges::none_of(method_table(), is_called) &&
      std::ranges::any_of(predictor::registry(), is_called)) {
    throw UsageError("unknown method '" + name +
                     "': it is a predictor; use --method adagp --set "
                     "predictor.kind=" +
                     name);
  }
  return core::find_named(method_table(), name, "unknown method");
}

}  // namespace

const char* name_of(Standing standing) {
  switch (standing) {
    case Standing::kRecommended:
      return "recommended";
    case Standing::kControl:
      return "control";
    case Standing::kPublished:
      return "published";
    case Standing::kExperiment:
      return "experiment";
  }
  return "";
}

const std::vector<MethodEntry>& method_table() {
  return entries_of_all();
}

void add(MethodEntry entry) {
  core::add_named(entries_of_all(), std::move(entry), "method");
}

MethodEntry find_method(const std::string& name) {
  MethodEntry step = find_part("bp");
  plan::SelectionRule rule;
  bool has_step = false;
  for (const std::string& part : core::split(name, '+')) {
    const MethodEntry& entry = find_part(part);
    const bool again = (entry.make && std::exchange(has_step, true)) || (entry.select && rule);
    if (again && (entry.cheap == Cheap::kDecided || step.cheap == Cheap::kDecided)) {
      throw UsageError("method '" + name +
                       "': " + (entry.cheap == Cheap::kDecided ? entry : step).name +
                       " decides by itself and cannot be joined");
    }
    if (again) {
      throw UsageError("method '" + name + "': joins two " +
                       (entry.make ? "kinds of steps" : "rules") +
                       ", expected one kind of step and one rule, as progressive+stored-loss");
    }
    if (entry.make) step = entry;
    if (entry.select) rule = entry.select;
  }
  if (step.length && rule) {
    throw UsageError("method '" + name + "': " + step.name +
                     " is plain backprop; it takes no rule");
  }
  step.name = name;
  step.select = rule;
  return step;
}

void fix_length(config::RunConfig& config, const task::TaskPtr& task,
                const task::NetMaker& make_net) {
  const MethodEntry entry = find_method(config.method);
  if (entry.length.fix) entry.length.fix(config, task, make_net);
}

bool needs_predictor(const config::RunConfig& config) {
  const MethodEntry entry = find_method(config.method);
  if (entry.predicts || !entry.mixes) return entry.predicts;
  const std::vector<std::string> steps = entry.mixes(config);
  return std::any_of(steps.begin(), steps.end(),
                     [](const std::string& step) { return find_method(step).predicts; });
}

}  // namespace adagp::method
