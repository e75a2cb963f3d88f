// Exact steps on smaller images: as cheap batches among full ones, or for whole stages of the run.

#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/cuda/shrink.h"
#include "adagp/device/kernels.h"
#include "adagp/method/backprop.h"
#include "adagp/method/factories.h"
#include "adagp/nn/batch_norm.h"

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

std::vector<int64_t> sizes_of(const config::RunConfig& config, int64_t full) {
  if (!config.low_res.sizes.empty()) return config.low_res.sizes;
  return {std::max<int64_t>(1, full / 2), std::max<int64_t>(1, full * 3 / 4), full};
}

class Smaller : public Backprop {
 public:
  explicit Smaller(const step::Session& s) : full_(s.task->image_side(s.config)) {
    require_alone(s);
    if (full_ == 0) {
      throw UsageError(core::cat(
          "method ", s.config.method, " needs square images with classes, and the task is ",
          models::task_name(s.task->kind()), " on inputs of ", s.task->input_name(s.config)));
    }
  }
  data::Batch shown(const data::Batch& batch, const BatchContext& moment) const override {
    const int64_t side = side_at(moment);
    return side == full_ || batch.empty() ? batch : at_side(batch, side);
  }
  int64_t batch_size(const step::Session& s, const BatchContext& moment) const override {
    const int64_t side = side_at(moment);
    if (!s.config.low_res.scale_batch || side == full_) return s.config.batch;
    const double ratio = static_cast<double>(full_) / static_cast<double>(side);
    const double grown = static_cast<double>(s.config.batch) * ratio * ratio;
    constexpr int64_t kMultiple = 8;  // whole tiles of a GPU's matrix units
    const int64_t whole = static_cast<int64_t>(grown) / kMultiple * kMultiple;
    return std::clamp<int64_t>(whole, s.config.batch,
                               std::max(s.config.batch, s.task->train_size()));
  }
  // A grown batch may take a grown step.
  double rate_factor(const step::Session& s, const BatchContext& moment) const override {
    const auto grown = static_cast<double>(batch_size(s, moment));
    return std::pow(grown / static_cast<double>(s.config.batch), s.config.low_res.scale_lr);
  }
  bool resizes_batches() const override { return scale_batch_; }
  double cost(const step::Session& s, const Costs& costs, const BatchContext& moment,
              int64_t examples) const override {
    const int64_t side = side_at(moment);
    return costs.backprop(side == full_ ? 0 : side, s.first_block) * static_cast<double>(examples);
  }

 protected:
  virtual int64_t side_at(const BatchContext& moment) const = 0;
  // Throws UsageError naming the key for a side that is none.
  int64_t checked(int64_t side) const {
    if (side >= 1 && side <= full_) return side;
    throw UsageError(
        core::cat("low_res.sizes: ", side, ", expected 1 to ", full_, ", the side of the images"));
  }
  int64_t full_;
  bool scale_batch_ = false;
};

// low-res: GP batches are smaller images.
class LowRes : public Smaller {
 public:
  explicit LowRes(const step::Session& s) : Smaller(s) {
    side_ = checked(sizes_of(s.config, full_).front());
    scale_batch_ = s.config.low_res.scale_batch && side_ != full_;
  }
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    // Activations of small images are others, and evaluation is on whole ones.
    std::optional<nn::KeepStatistics> kept;
    if (side_ != full_ && !s.config.low_res.move_statistics) kept.emplace();
    return Smaller::cheap_step(s, batch);
  }
  std::vector<int64_t> sides() const override {
    return side_ == full_ ? std::vector<int64_t>() : std::vector<int64_t>{side_};
  }

 protected:
  int64_t side_at(const BatchContext& moment) const override {
    return moment.phase == schedule::Phase::kPredict ? side_ : full_;
  }

 private:
  int64_t side_ = 0;
};

// progressive: the run begins with small images and ends with whole ones.
class Progressive : public Smaller {
 public:
  explicit Progressive(const step::Session& s) : Smaller(s) {
    const auto& low = s.config.low_res;
    const std::vector<int64_t> sizes = sizes_of(s.config, full_);
    if (sizes.size() != low.shares.size()) {
      throw UsageError(core::cat("low_res.sizes and low_res.shares: ", sizes.size(), " and ",
                                 low.shares.size(), " numbers, expected equally many"));
    }
    double until = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const double share = low.shares[i];
      if (!(share >= 0 && share <= 1)) {
        throw UsageError(core::cat("low_res.shares: ", share, ", expected 0 to 1"));
      }
      until += share;
      stages_.push_back({checked(sizes[i]), until});
      if (stages_.back().side != full_ && low.scale_batch) scale_batch_ = true;
    }
    constexpr double kRounding = 1e-6;
    if (std::abs(until - 1) > kRounding) {
      throw UsageError(core::cat("low_res.shares: they add up to ", until, ", expected 1"));
    }
  }
  std::vector<int64_t> sides() const override {
    std::vector<int64_t> out;
    for (const Stage& stage : stages_) {
      if (stage.side != full_) out.push_back(stage.side);
    }
    return out;
  }
  std::vector<int64_t> turns(int64_t epochs) const override {
    std::vector<int64_t> out{epochs - 1};
    for (const Stage& stage : stages_) out.push_back(stage.end_epoch(epochs));
    return out;
  }

 protected:
  int64_t side_at(const BatchContext& moment) const override {
    // However short the run, it ends with the last size.
    if (moment.epoch + 1 >= moment.epochs) return stages_.back().side;
    for (const Stage& stage : stages_) {
      if (moment.epoch < stage.end_epoch(moment.epochs)) return stage.side;
    }
    return stages_.back().side;
  }

 private:
  struct Stage {
    int64_t side;
    double until;  // share of the epochs
    int64_t end_epoch(int64_t epochs) const {
      return std::llround(until * static_cast<double>(epochs));
    }
  };
  std::vector<Stage> stages_;
};

}  // namespace

MethodMaker low_res_method() {
  return maker<LowRes>();
}
MethodMaker progressive_method() {
  return maker<Progressive>();
}

}  // namespace adagp::method
