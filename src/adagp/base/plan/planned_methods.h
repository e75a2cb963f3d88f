#pragma once
// Methods that are a plan and nothing else: exact steps on chosen examples, or on images of chosen
// sizes. No torch here.

#include <functional>
#include <string>
#include <vector>

#include "adagp/base/plan/image_sizes.h"
#include "adagp/base/plan/run_plan.h"

namespace adagp::plan {

struct PlannedMethod {
  std::string name;
  std::string about;
  bool scheduled = false;  // its plan asks which batches are GP
  std::function<BatchPlan(const config::RunConfig&, const ImageSet&)> batches = {};
  SelectionRule select = {};
};

const std::vector<PlannedMethod>& planned_methods();
// Throws UsageError with the nearest name.
const PlannedMethod& planned_method(const std::string& name);

// The keys of recipes that this method reads and not every other method does.
std::vector<std::string> keys_of(const PlannedMethod& method);

// The plan of config.method: one of them, or a plan of batches and a rule joined
// ("progressive+stored-loss"). Throws UsageError for other names and for keys that cannot be.
RunPlan make_run_plan(const config::RunConfig& config, const ImageSet& images);

}  // namespace adagp::plan
