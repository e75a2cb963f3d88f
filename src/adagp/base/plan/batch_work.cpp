#include "adagp/base/plan/batch_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/frozen_blocks.h"
#include "adagp/base/plan/planned_methods.h"

namespace adagp::plan {
namespace {

using schedule::Phase;

// A kind of step: what its BP and GP batches do.
struct Steps {
  const char* name;
  Work exact = Work::kBackprop, cheap = Work::kBackprop;
  bool scheduled = false;
  bool foreseen = true;  // its batches follow from the configuration
  // Of a method that is not in the table of planned methods; null: the usual batches.
  BatchPlan (*batches)(const config::RunConfig&) = nullptr;
};
constexpr Steps kSteps[] = {
    {.name = "bp"},
    {.name = "progressive"},
    {.name = "freeze", .batches = freeze_plan},
    {.name = "low-res", .scheduled = true},
    {.name = "skip", .cheap = Work::kNothing, .scheduled = true},
    {.name = "zero", .cheap = Work::kUpdate, .scheduled = true},
    {.name = "adagp", .exact = Work::kLearn, .cheap = Work::kPredict, .scheduled = true},
    {.name = "wrong-input", .exact = Work::kLearn, .cheap = Work::kPredict, .scheduled = true},
    {.name = "equal-time", .foreseen = false},
};

constexpr std::pair<Work, const char*> kNames[] = {
    {Work::kBackprop, "backprop"},  {Work::kLearn, "backprop and predictor"},
    {Work::kPredict, "prediction"}, {Work::kUpdate, "update"},
    {Work::kNothing, "nothing"},    {Work::kOther, "other"}};

bool is_rule(const std::string& name) {
  const auto& all = planned_methods();
  const auto found = std::ranges::find(all, name, &PlannedMethod::name);
  return found != all.end() && found->select;
}

// The kind of step of a method, as "progressive" of "progressive+stored-loss"; null: not known.
const Steps* steps_of(const std::string& method) {
  const Steps* steps = nullptr;
  for (const std::string& part : core::split(method, '+')) {
    if (is_rule(part)) continue;
    const auto* found =
        std::ranges::find_if(kSteps, [&](const Steps& s) { return part == s.name; });
    if (found == std::end(kSteps) || steps != nullptr) return nullptr;
    steps = found;
  }
  return steps != nullptr ? steps : &kSteps[0];
}

RunPlan run_plan_of(const config::RunConfig& config, const Steps& steps, const ImageSet& images) {
  const std::string name = steps.name;
  const auto& planned = planned_methods();
  if (std::ranges::find(planned, name, &PlannedMethod::name) != planned.end()) {
    return make_run_plan(config, images);
  }
  std::vector<std::string> rules;
  for (const std::string& part : core::split(config.method, '+')) {
    if (is_rule(part)) rules.push_back(part);
  }
  config::RunConfig rest = config;
  rest.method = rules.empty() ? "bp" : core::join(rules, "+");
  const auto schedule =
      schedule::Schedule::parse(steps.scheduled ? config.schedule : "bp", config.epochs);
  return {config, schedule, steps.batches != nullptr ? steps.batches(config) : BatchPlan(),
          make_run_plan(rest, images).rule(), images.examples};
}

}  // namespace

const char* name_of(Work work) {
  return std::ranges::find(kNames, work, &std::pair<Work, const char*>::first)->second;
}

nlohmann::json to_json(const BatchCounts& counts) {
  auto out = nlohmann::json::array();
  for (const auto& [group, batches] : counts) {
    out.push_back({{"work", name_of(group.work)},
                   {"image_side", group.image_side},
                   {"examples", group.examples},
                   {"frozen_rows", group.frozen_rows},
                   {"batches", batches}});
  }
  return out;
}

BatchCounts batch_counts(const nlohmann::json& list) {
  constexpr int64_t kMost = int64_t{1} << 48;
  if (!list.is_array())
    throw DataError("key 'batches' is " + core::brief(list) + ", expected a list");
  BatchCounts out;
  for (size_t i = 0; i < list.size(); ++i) {
    try {
      const auto whole = [&](const char* key, int64_t least) {
        const auto value = core::json_field<int64_t>(list[i], key);
        if (value < least || value > kMost) {
          throw DataError(
              core::cat("key '", key, "' is ", value, ", expected ", least, " to ", kMost));
        }
        return value;
      };
      if (!list[i].is_object()) throw DataError("is no object");
      const auto name = core::json_field<std::string>(list[i], "work");
      const auto* work =
          std::ranges::find_if(kNames, [&](const auto& known) { return known.second == name; });
      if (work == std::end(kNames)) {
        throw DataError("key 'work' is '" + core::printable(name) + "', which is none of ours");
      }
      const BatchGroup group{work->first, whole("image_side", 0), whole("examples", 1),
                             whole("frozen_rows", 0)};
      if (!out.emplace(group, whole("batches", 1)).second) throw DataError("comes twice");
    } catch (const DataError& error) {
      throw DataError(core::cat("entry ", i + 1, " of 'batches': ", error.what()));
    }
  }
  return out;
}

Work work_of(const config::RunConfig& config, Phase phase) {
  const Steps* steps = steps_of(config.method);
  if (steps == nullptr) return Work::kOther;
  if (phase == Phase::kBackprop) return steps->exact;
  const bool substitutes = steps->cheap == Work::kPredict || steps->cheap == Work::kUpdate;
  return substitutes && config.head != "predicted" ? Work::kOther : steps->cheap;
}

BatchCounts planned_batches(const config::RunConfig& config, const ImageSet& images,
                            const std::function<int64_t(int64_t blocks)>& rows_of) {
  const Steps* steps = steps_of(config.method);
  if (steps == nullptr || !steps->foreseen) {
    std::vector<std::string> known;
    for (const Steps& one : kSteps) {
      if (one.foreseen) known.emplace_back(one.name);
    }
    for (const PlannedMethod& one : planned_methods()) {
      if (one.select) known.push_back(one.name);
    }
    throw UsageError("method '" + config.method + "' cannot be planned without a run" +
                     core::suggestion(config.method, known));
  }
  const RunPlan plan = run_plan_of(config, *steps, images);
  BatchCounts out;
  for (const RunPlan::Stage& stage : plan.stages()) {
    const auto parts = plan.parts(stage.begin, stage.examples);
    for (size_t i = 0; i < parts.size(); ++i) {
      const BatchContext when = plan.context(stage.begin, static_cast<int64_t>(i));
      const BatchShape shape = plan.batch_plan().at(when);
      const int64_t frozen = shape.frozen_blocks > 0 ? rows_of(shape.frozen_blocks) : 0;
      out[{work_of(config, when.phase), shape.image_side, parts[i].count, frozen}] +=
          stage.end - stage.begin;
    }
  }
  return out;
}

}  // namespace adagp::plan
