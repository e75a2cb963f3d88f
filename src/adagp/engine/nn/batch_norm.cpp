#include "adagp/engine/nn/batch_norm.h"

#include <ATen/Context.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/norm_sync.h"

namespace adagp::nn {
namespace {

thread_local bool statistics_kept = false;

}  // namespace

KeepStatistics::KeepStatistics() : before_(statistics_kept) {
  statistics_kept = true;
}
KeepStatistics::~KeepStatistics() {
  statistics_kept = before_;
}

bool KeepStatistics::active() {
  return statistics_kept;
}

double BatchNorm2dImpl::momentum() const {
  return statistics_kept ? 0.0 : momentum_;
}

BatchNorm2dImpl::BatchNorm2dImpl(int64_t channels, double eps, double momentum)
    : channels_(channels), eps_(eps), momentum_(momentum) {
  weight = register_parameter("weight", make_tensor({channels}));
  bias = register_parameter("bias", make_tensor({channels}));
  running_mean = register_buffer("running_mean", make_tensor({channels}));
  running_var = register_buffer("running_var", make_tensor({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", make_tensor({}, at::kLong));
  if (shape_only()) return;
  torch::NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

const at::Tensor& BatchNorm2dImpl::zeros() {
  if (!zeros_.defined() || zeros_.device() != weight.device()) {
    zeros_ = at::zeros_like(weight.detach());
  }
  return zeros_;
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  if (x.dim() != 4 || x.size(1) != channels_) {
    throw UsageError(core::cat("batch_norm over ", channels_, " channels: input has ", x.dim(),
                               " dimensions and ", x.dim() > 1 ? x.size(1) : 0,
                               " channels, expected [B, ", channels_, ", H, W]"));
  }
  if (x.is_meta() || weight.is_meta()) {
    at::Tensor y = at::empty(x.sizes(), x.options().device(at::kMeta));
    report_op("batch_norm", {x, weight, bias}, y);
    return y;
  }
  if (is_training()) {
    if (!statistics_kept) num_batches_tracked.add_(1);
    if (const NormSync* sync = norm_sync()) {
      return synced_batch_norm(*sync, x, weight, bias, running_mean, running_var, momentum(), eps_);
    }
  }
  return at::batch_norm(x, weight, bias, running_mean, running_var, is_training(), momentum(), eps_,
                        at::globalContext().userEnabledCuDNN());
}

}  // namespace adagp::nn
