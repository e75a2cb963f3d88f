#include "adagp/base/plan/planned_methods.h"

#include <algorithm>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {

const std::vector<PlannedMethod>& planned_methods() {
  static const std::vector<PlannedMethod> table{
      {.name = "bp", .about = "plain backprop on every batch"},
      {.name = "progressive",
       .about = "exact: the run begins with small images and ends with whole ones",
       .batches = progressive_plan},
      {.name = "low-res",
       .about = "exact: GP batches are backprop on smaller images",
       .scheduled = true,
       .batches = low_res_plan},
      {.name = "stored-loss",
       .about = "rule: examples are kept by the rank of the loss they had when last seen",
       .select = {stored_loss_rule}},
      {.name = "infobatch",
       .about = "rule: a share of the examples below the mean loss is left out, the rest weighs "
                "more",
       .select = {infobatch_rule}},
  };
  return table;
}

const PlannedMethod& planned_method(const std::string& name) {
  return core::find_named(planned_methods(), name, "unknown plan");
}

std::vector<std::string> keys_of(const PlannedMethod& method) {
  core::Binding binding;
  config::RunConfig config;
  bind(binding, config);
  std::vector<std::string> keys;
  for (const auto& field : binding.fields()) {
    for (const auto& [by, values] : field.conditions) {
      const bool named = std::find(values.begin(), values.end(), method.name) != values.end();
      if (by == "method" && named) keys.push_back(field.key);
    }
  }
  return keys;
}

RunPlan make_run_plan(const config::RunConfig& config, const ImageSet& images) {
  BatchPlan batches;
  SelectionRule rule;
  bool has_batches = false, scheduled = false;
  for (const std::string& part : core::split(config.method, '+')) {
    const PlannedMethod& method = planned_method(part);
    if ((method.batches && has_batches) || (method.select && rule)) {
      throw UsageError("plan '" + config.method + "': joins two " +
                       (method.select ? "rules" : "plans of batches") +
                       ", expected one plan of batches and one rule, as progressive+stored-loss");
    }
    scheduled = scheduled || method.scheduled;
    if (method.select) rule = method.select;
    if (!method.batches) continue;
    has_batches = true;
    if (images.side < 1) {
      throw UsageError("plan '" + config.method +
                       "' changes the size of images: it needs square images and their side");
    }
    batches = method.batches(config, images);
  }
  const auto schedule =
      schedule::Schedule::parse(scheduled ? config.schedule : "bp", config.epochs);
  return {config, schedule, batches, rule, images.examples};
}

}  // namespace adagp::plan
