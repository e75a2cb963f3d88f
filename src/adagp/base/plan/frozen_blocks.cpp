#include "adagp/base/plan/frozen_blocks.h"

#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {
namespace {

struct Step {
  double from;  // share of the epochs
  int64_t blocks;
  int64_t first_epoch(int64_t epochs) const {
    return std::llround(from * static_cast<double>(epochs));
  }
};

}  // namespace

BatchPlan freeze_plan(const config::RunConfig& config) {
  const auto& freeze = config.freeze;
  if (freeze.at.size() != freeze.blocks.size()) {
    throw UsageError(core::cat("freeze.at and freeze.blocks: ", freeze.at.size(), " and ",
                               freeze.blocks.size(), " numbers, expected equally many"));
  }
  std::vector<Step> steps;
  for (size_t i = 0; i < freeze.at.size(); ++i) {
    if (!(freeze.at[i] >= 0 && freeze.at[i] <= 1)) {
      throw UsageError(core::cat("freeze.at: ", freeze.at[i], ", expected 0 to 1"));
    }
    steps.push_back({freeze.at[i], freeze.blocks[i]});
  }
  BatchPlan plan;
  plan.shape = [steps](const BatchContext& context) {
    BatchShape out;
    for (const Step& step : steps) {
      if (context.epoch >= step.first_epoch(context.epochs)) out.frozen_blocks = step.blocks;
    }
    return out;
  };
  plan.turns = [steps](int64_t epochs) {
    std::vector<int64_t> out;
    for (const Step& step : steps) out.push_back(step.first_epoch(epochs));
    return out;
  };
  return plan;
}

}  // namespace adagp::plan
