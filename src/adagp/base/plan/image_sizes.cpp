#include "adagp/base/plan/image_sizes.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {
namespace {

std::vector<int64_t> sizes_of(const config::RunConfig& config, int64_t full) {
  if (!config.low_res.sizes.empty()) return config.low_res.sizes;
  return {std::max<int64_t>(1, full / 2), std::max<int64_t>(1, full * 3 / 4), full};
}

int64_t checked(int64_t side, int64_t full) {
  if (side >= 1 && side <= full) return side;
  throw UsageError(
      core::cat("low_res.sizes: ", side, ", expected 1 to ", full, ", the side of the images"));
}

// The batch grows as the images shrink, and a grown batch may take a grown step.
BatchShape shape_for(const config::RunConfig& config, const ImageSet& images, int64_t side) {
  BatchShape out;
  if (side == images.side) return out;
  out.image_side = side;
  if (!config.low_res.scale_batch) return out;
  const double ratio = static_cast<double>(images.side) / static_cast<double>(side);
  const auto usual = static_cast<double>(config.batch);
  constexpr int64_t kMultiple = 8;  // whole tiles of a GPU's matrix units
  const int64_t whole = static_cast<int64_t>(usual * ratio * ratio) / kMultiple * kMultiple;
  out.examples = std::clamp<int64_t>(whole, config.batch, std::max(config.batch, images.examples));
  out.rate = std::pow(static_cast<double>(out.examples) / usual, config.low_res.scale_lr);
  return out;
}

struct Stage {
  int64_t side;
  double until;  // share of the epochs
  int64_t end_epoch(int64_t epochs) const {
    return std::llround(until * static_cast<double>(epochs));
  }
};

std::vector<Stage> stages_of(const config::RunConfig& config, int64_t full) {
  const std::vector<int64_t> sizes = sizes_of(config, full);
  const std::vector<double>& shares = config.low_res.shares;
  if (sizes.size() != shares.size()) {
    throw UsageError(core::cat("low_res.sizes and low_res.shares: ", sizes.size(), " and ",
                               shares.size(), " numbers, expected equally many"));
  }
  std::vector<Stage> stages;
  double until = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(shares[i] >= 0 && shares[i] <= 1)) {
      throw UsageError(core::cat("low_res.shares: ", shares[i], ", expected 0 to 1"));
    }
    until += shares[i];
    stages.push_back({checked(sizes[i], full), until});
  }
  constexpr double kRounding = 1e-6;
  if (std::abs(until - 1) > kRounding) {
    throw UsageError(core::cat("low_res.shares: they add up to ", until, ", expected 1"));
  }
  return stages;
}

int64_t side_at(const std::vector<Stage>& stages, const BatchContext& context) {
  // However short the run, it ends with the last size.
  if (context.epoch + 1 >= context.epochs) return stages.back().side;
  for (const Stage& stage : stages) {
    if (context.epoch < stage.end_epoch(context.epochs)) return stage.side;
  }
  return stages.back().side;
}

}  // namespace

BatchPlan low_res_plan(const config::RunConfig& config, const ImageSet& images) {
  const int64_t side = checked(sizes_of(config, images.side).front(), images.side);
  BatchPlan plan;
  if (side == images.side) return plan;
  plan.shape = [small = shape_for(config, images, side)](const BatchContext& context) {
    return context.cheap() ? small : BatchShape();
  };
  plan.image_sides = {side};
  plan.resizes_batches = config.low_res.scale_batch;
  return plan;
}

BatchPlan progressive_plan(const config::RunConfig& config, const ImageSet& images) {
  const std::vector<Stage> stages = stages_of(config, images.side);
  BatchPlan plan;
  for (const Stage& stage : stages) {
    if (stage.side == images.side) continue;
    plan.image_sides.push_back(stage.side);
    plan.resizes_batches = config.low_res.scale_batch;
  }
  plan.shape = [config, images, stages](const BatchContext& context) {
    return shape_for(config, images, side_at(stages, context));
  };
  plan.turns = [stages](int64_t epochs) {
    std::vector<int64_t> out{epochs - 1};
    for (const Stage& stage : stages) out.push_back(stage.end_epoch(epochs));
    return out;
  };
  return plan;
}

}  // namespace adagp::plan
