// DropBack (Golub et al. 2018) as Procrustes (Yang et al., MICRO 2020) uses it: after each step the
// k weights that are farthest from L_t W0 stay, all others fall back to it,
//   L_t = init_decay^t,   a = |W - L_t W0|,   W <- a among the k largest ? W : L_t W0.
// Biases, norms and embeddings are trained as ever.

#include "adagp/rivals/method/dropback.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/gpu/cuda/optim/dropback.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

constexpr double kFirstEstimate = 1e-3;  // of the threshold

class DropBack : public Backprop {
 public:
  explicit DropBack(const step::Session& s)
      : decay_(s.config.parts.get<rivals::DropBackOptions>().init_decay),
        estimates_(s.config.parts.get<rivals::DropBackOptions>().threshold == "estimate"),
        on_gpu_(s.device.is_cuda()) {
    require_alone(s);
    if (const std::string why = device::why_no_kernels(s.device); !why.empty()) {
      throw UsageError("method " + s.config.method +
                       " needs the program's kernels on a GPU: " + why + "; use device = cpu");
    }
    for (size_t l = 0; l < s.layers.size(); ++l) {
      const optim::Param& param = s.optimizer->params()[s.weight_slot[l]];
      if (param.value.scalar_type() != at::kFloat) {
        throw UsageError("method " + s.config.method + " needs weights in fp32");
      }
      tracked_.push_back(param);
      start_.push_back(param.value.detach().clone());
      weights_ += param.value.numel();
    }
    keep_ = std::llround(s.config.parts.get<rivals::DropBackOptions>().keep *
                         static_cast<double>(weights_));
    everything_ = keep_ >= weights_;
    const auto options = at::TensorOptions(s.device).dtype(at::kFloat);
    scale_ = at::ones({1}, options);
    threshold_ = at::full({1}, kFirstEstimate, options);
    estimate_ = {at::full({1}, 0.5, options), at::zeros({1}, options)};
    least_ = at::zeros({1}, options);
    kept_ = at::zeros({1}, options.dtype(at::kLong));
    workspace_ =
        at::zeros({std::max<int64_t>(1, cuda::drop_workspace())}, options.dtype(at::kByte));
    const auto per_epoch = std::max<int64_t>(1, s.task->train_size() / s.config.batch);
    freeze_after_ = core::Duration::parse(s.config.parts.get<rivals::DropBackOptions>().freeze)
                        .batches(per_epoch);
  }

  void advance(step::Session&) override {
    const at::NoGradGuard no_grad;
    if (freeze_after_ > 0 && steps_ == freeze_after_ && !everything_) freeze();
    ++steps_;
    scale_.fill_(std::pow(decay_, static_cast<double>(steps_)));
  }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    const step::StepResult result = step::backprop_step(s, batch);
    if (!everything_) fall_back();
    return result;
  }

  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out{{"steps", at::tensor({steps_})}};
    if (everything_) return out;
    out["threshold"] = threshold_;
    out["gain"] = estimate_.gain;
    out["last"] = estimate_.last;
    out["frozen"] = at::isinf(least_).to(at::kLong);
    for (size_t i = 0; i < start_.size(); ++i) {
      // As bits: first values of frozen weights are NaN, and a checkpoint takes NaN for divergence.
      out["start." + tracked_[i].name] = start_[i].view(at::kInt);
    }
    return out;
  }

  void load_state(const std::map<std::string, at::Tensor>& state) override {
    const at::NoGradGuard no_grad;
    steps_ = saved(state, "steps").item<int64_t>();
    scale_.fill_(std::pow(decay_, static_cast<double>(steps_)));
    if (everything_) return;
    threshold_.copy_(saved(state, "threshold"));
    estimate_.gain.copy_(saved(state, "gain"));
    estimate_.last.copy_(saved(state, "last"));
    if (saved(state, "frozen").item<int64_t>() != 0) never_below_infinity();
    for (size_t i = 0; i < start_.size(); ++i) {
      const at::Tensor& bits = saved(state, "start." + tracked_[i].name);
      if (bits.sizes() != start_[i].sizes() || bits.scalar_type() != at::kInt) {
        throw DataError("method state: 'start." + tracked_[i].name + "' is of another network");
      }
      start_[i].copy_(bits.view(at::kFloat));
    }
  }

 private:
  // From here on the same weights stay. Those are marked by a NaN, from which nothing is near.
  void freeze() {
    for (size_t i = 0; i < start_.size(); ++i) {
      const at::Tensor stays = tracked_[i].value.detach().ne(start_[i] * scale_);
      start_[i].masked_fill_(stays, std::numeric_limits<float>::quiet_NaN());
    }
    never_below_infinity();
  }
  void never_below_infinity() { least_.fill_(std::numeric_limits<float>::infinity()); }

  void fall_back() {
    const at::NoGradGuard no_grad;
    std::vector<cuda::ParamSlot> slots;
    for (size_t i = 0; i < tracked_.size(); ++i) {
      cuda::ParamSlot slot;
      slot.weight = tracked_[i].value.mutable_data_ptr<float>();
      slot.first = start_[i].mutable_data_ptr<float>();
      const at::Tensor& low = tracked_[i].bf16_copy;
      slot.low = low.defined() ? low.mutable_data_ptr() : nullptr;
      slot.count = start_[i].numel();
      slots.push_back(slot);
    }
    cuda::DropArgs args;
    args.slots = slots.data();
    args.count = static_cast<int64_t>(slots.size());
    args.scale = scale_.const_data_ptr<float>();
    args.keep = keep_;
    args.threshold = threshold_.mutable_data_ptr<float>();
    args.least = least_.const_data_ptr<float>();
    args.workspace = workspace_.mutable_data_ptr();
    if (estimates_) {
      kept_.zero_();
      args.kept = kept_.mutable_data_ptr<int64_t>();
    }
    const cuda::Stream stream = on_gpu_ ? device::stream(scale_.device()) : nullptr;
    if (!estimates_) {
      on_gpu_ ? cuda::drop_threshold(args, stream) : cuda::reference::drop_threshold(args);
    }
    on_gpu_ ? cuda::drop_apply(args, stream) : cuda::reference::drop_apply(args);
    // After the freeze all that stays is above the threshold, which says nothing about it.
    if (estimates_) {
      estimate_.follow(threshold_, kept_, keep_, weights_, at::isfinite(least_).to(at::kFloat));
    }
  }

  double decay_;
  bool estimates_, on_gpu_, everything_ = false;
  int64_t weights_ = 0, keep_ = 0, steps_ = 0, freeze_after_ = 0;
  std::vector<optim::Param> tracked_;
  std::vector<at::Tensor> start_;  // W0, in the weights' memory layout
  at::Tensor scale_, threshold_, least_, kept_, workspace_;
  QuantileEstimate estimate_;
};

}  // namespace

void QuantileEstimate::follow(at::Tensor& threshold, const at::Tensor& kept, int64_t keep,
                              int64_t count, const at::Tensor& moves) {
  constexpr double kSmallest = 0.01, kLargest = 0.5, kMost = 4, kHalfOne = 0.5;
  const double most = static_cast<double>(count) - kHalfOne;
  const double wanted = std::clamp(static_cast<double>(keep), kHalfOne, most);
  const at::Tensor found = kept.to(at::kFloat).clamp_(kHalfOne, most);
  const at::Tensor off = found.div(static_cast<double>(count) - found)
                             .div_(wanted / (static_cast<double>(count) - wanted))
                             .log_()
                             .clamp_(-kMost, kMost)
                             .mul_(moves);
  const at::Tensor passed = off.mul(last).lt_(0);  // the quantile lies between the last two
  gain.mul_(passed.mul(-0.6).add_(1.1)).clamp_(kSmallest, kLargest);
  threshold.mul_(off.mul(gain).exp_());
  last.copy_(off);
}

MethodEntry entries::dropback() {
  return {.name = "dropback",
          .about = "only some weights may leave their first values, which fade away",
          .standing = Standing::kPublished,
          .make = maker<DropBack>()};
}

}  // namespace adagp::method
