// Exact steps on smaller images: as cheap batches among full ones, or for whole stages of the run.

#include <optional>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/planned_methods.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/engine/method/entries.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/gpu/cuda/data/shrink.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::method {
namespace {

// Every new pixel is the mean of those it covers.
data::Batch at_side(data::Batch batch, int64_t side) {
  at::Tensor& images = batch.inputs.at(0);
  if (images.size(2) == side && images.size(3) == side) return batch;
  const at::NoGradGuard no_grad;
  if (!device::has_kernels(images.device()) || !device::has_type(images)) {
    images = at::adaptive_avg_pool2d(images, {side, side});
    return batch;
  }
  const at::Tensor whole = device::channels_last(images);
  at::Tensor small = at::empty({whole.size(0), whole.size(1), side, side}, whole.options(),
                               at::MemoryFormat::ChannelsLast);
  cuda::ShrinkArgs a;
  a.in = whole.const_data_ptr();
  a.type = device::type_of(whole);
  a.batch = whole.size(0);
  a.height = whole.size(2);
  a.width = whole.size(3);
  a.out_height = a.out_width = side;
  a.out = small.mutable_data_ptr();
  cuda::shrink(a, device::stream(whole.device()));
  images = small;
  return batch;
}

// What low-res and progressive share: exact steps on the images of a plan.
class Smaller : public Backprop {
 public:
  const plan::BatchPlan& batch_plan() const override { return plan_; }
  data::Batch transform_batch(const data::Batch& batch,
                              const plan::BatchContext& context) const override {
    const int64_t side = plan_.at(context).image_side;
    return side == 0 || batch.empty() ? batch : at_side(batch, side);
  }
  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    return costs.backprop(plan_.at(context).image_side, s.first_block) *
           static_cast<double>(examples);
  }

 protected:
  Smaller(const step::Session& s, const std::string& name) {
    require_whole_network(s);
    const int64_t side = s.task->image_side(s.config);
    if (side == 0) {
      throw UsageError(core::cat(
          "method ", s.config.method, " needs square images with classes, and the task is ",
          models::task_name(s.task->kind()), " on inputs of ", s.task->input_name(s.config)));
    }
    plan_ = plan::planned_method(name).batches(s.config, {side, s.task->train_size()});
  }
  plan::BatchPlan plan_;
};

// low-res: GP batches are smaller images.
class LowRes : public Smaller {
 public:
  explicit LowRes(const step::Session& s) : Smaller(s, "low-res") {}
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    // Activations of small images are others, and evaluation is on whole ones.
    std::optional<nn::KeepStatistics> kept;
    if (!plan_.image_sides.empty() && !s.config.low_res.move_statistics) kept.emplace();
    return Smaller::cheap_step(s, batch);
  }
};

// progressive: the run begins with small images and ends with whole ones.
class Progressive : public Smaller {
 public:
  explicit Progressive(const step::Session& s) : Smaller(s, "progressive") {}
};

MethodEntry entry_of(const std::string& name, Standing standing) {
  const plan::PlannedMethod& method = plan::planned_method(name);
  return {.name = method.name,
          .about = method.about,
          .standing = standing,
          .cheap = method.scheduled ? Cheap::kScheduled : Cheap::kNone};
}

}  // namespace

MethodEntry entries::progressive() {
  MethodEntry entry = entry_of("progressive", Standing::kRecommended);
  entry.make = maker<Progressive>();
  return entry;
}

MethodEntry entries::low_res() {
  MethodEntry entry = entry_of("low-res", Standing::kExperiment);
  entry.make = maker<LowRes>();
  return entry;
}

}  // namespace adagp::method
