#include "adagp/engine/nn/fused_norm.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/norm_sync.h"
#include "adagp/engine/nn/summary_cells.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

using device::channels_last;
using device::Scratch;

const float* floats(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr<float>() : nullptr;
}

float cap_of(bool relu6) {
  return relu6 ? 6.0F : cuda::kNoCap;
}

// Rows of one small tensor: what the forward pass hands on to the backward pass.
enum Row { kMean, kInvStd, kScale, kShift, kRows };

float* row(const at::Tensor& moments, Row which) {
  return moments.mutable_data_ptr<float>() + which * moments.size(1);
}

at::Tensor empty_moments(const at::Tensor& raw) {
  return at::empty({kRows, raw.size(1)}, raw.options().dtype(at::kFloat));
}

cuda::NormPart part_of(BatchNorm2dImpl& norm, const at::Tensor& conv_bias,
                       const at::Tensor& moments) {
  cuda::NormPart a;
  a.weight = floats(norm.weight);
  a.bias = floats(norm.bias);
  a.conv_bias = floats(conv_bias);
  a.running_mean = norm.running_mean.mutable_data_ptr<float>();
  a.running_var = norm.running_var.mutable_data_ptr<float>();
  if (!KeepStatistics::active()) {
    a.batches = norm.num_batches_tracked.mutable_data_ptr<int64_t>();
  }
  a.momentum = static_cast<float>(norm.momentum());
  a.eps = static_cast<float>(norm.eps());
  a.mean = row(moments, kMean);
  a.inv_std = row(moments, kInvStd);
  a.scale = row(moments, kScale);
  a.shift = row(moments, kShift);
  return a;
}

void take_statistics(const at::Tensor& raw, const at::Tensor& conv_bias, BatchNorm2dImpl& norm,
                     const FusedNorm& plan, const at::Tensor& moments) {
  const cuda::NormPart part = part_of(norm, conv_bias, moments);
  if (plan.known) {
    if (plan.summary) throw Error("fused_norm: known statistics leave no summary");
    const cuda::Map map = device::map_of(raw);
    cuda::norm_moments(
        {part, map.channels, map.positions(), plan.known->mean, plan.known->variance},
        device::stream(raw.device()));
    return;
  }
  cuda::StatsArgs a;
  static_cast<cuda::NormPart&>(a) = part;
  a.x = raw.const_data_ptr();
  a.type = device::type_of(raw);
  a.map = device::map_of(raw);
  a.pitch = device::pitch_of(raw);
  if (plan.summary) ask_for_summary(*plan.summary, raw, a);
  a.workspace =
      device::scratch(Scratch::kStats, raw.device(), cuda::stats_workspace(a.map, a.size));
  cuda::norm_stats(a, device::stream(raw.device()));
}

at::Tensor apply_norm(const at::Tensor& raw, const at::Tensor& moments, const at::Tensor& residual,
                      const FusedNorm& plan, bool in_place) {
  // With a residual the backward pass reads y, and its kernels want that dense.
  if (plan.into.defined() &&
      (plan.pool || residual.defined() || plan.into.sizes() != raw.sizes())) {
    throw Error("fused_norm: the result cannot be written into a part of another map");
  }
  const auto output = [&] {
    if (plan.into.defined()) return plan.into;
    if (in_place && !plan.pool) return raw;
    const int64_t shrink = plan.pool ? 2 : 1;
    return at::empty({raw.size(0), raw.size(1), raw.size(2) / shrink, raw.size(3) / shrink},
                     raw.options(), at::MemoryFormat::ChannelsLast);
  };
  const at::Tensor y = output();
  cuda::ApplyArgs a;
  a.x = raw.const_data_ptr();
  a.type = device::type_of(raw);
  a.map = device::map_of(raw);
  a.pitch = device::pitch_of(raw);
  a.scale = row(moments, kScale);
  a.shift = row(moments, kShift);
  a.residual = residual.defined() ? residual.const_data_ptr() : nullptr;
  a.relu = plan.relu;
  a.cap = cap_of(plan.relu6);
  a.pool = plan.pool;
  a.y = y.mutable_data_ptr();
  a.y_pitch = plan.into.defined() ? device::pitch_of(y) : 0;
  cuda::norm_apply(a, device::stream(raw.device()));
  return y;
}

// The gradients of apply_norm() after take_statistics().
struct NormGradients {
  at::Tensor dx, terms, dz;  // terms: [dweight, dbias]
};
// y: the output, where ReLU's mask needs it. plus: a gradient to add to dx. Both may be undefined.
NormGradients gradients_of(const at::Tensor& raw, const at::Tensor& moments, const at::Tensor& y,
                           const at::Tensor& dy, const at::Tensor& plus, const FusedNorm& plan,
                           bool residual) {
  NormGradients out;
  out.terms = at::empty({2, raw.size(1)}, moments.options());
  const auto like_raw = [&raw] {
    return at::empty(raw.sizes(), raw.options(), at::MemoryFormat::ChannelsLast);
  };
  out.dx = like_raw();
  if (residual) out.dz = like_raw();

  cuda::NormBackwardArgs a;
  a.x = raw.const_data_ptr();
  a.dy = dy.const_data_ptr();
  a.dy_pitch = plan.pool ? 0 : device::pitch_of(dy);
  a.y = y.defined() ? y.const_data_ptr() : nullptr;
  a.type = device::type_of(raw);
  a.map = device::map_of(raw);
  a.pitch = device::pitch_of(raw);
  a.relu = plan.relu;
  a.cap = cap_of(plan.relu6);
  a.pool = plan.pool;
  a.mean = row(moments, kMean);
  a.inv_std = row(moments, kInvStd);
  a.scale = row(moments, kScale);
  a.shift = row(moments, kShift);
  a.dweight = out.terms.mutable_data_ptr<float>();
  a.dbias = a.dweight + raw.size(1);
  a.dz = residual ? out.dz.mutable_data_ptr() : nullptr;
  a.dx = out.dx.mutable_data_ptr();
  if (plus.defined()) {
    a.plus = plus.const_data_ptr();
    a.plus_pitch = device::pitch_of(plus);
  }
  a.workspace = device::scratch(Scratch::kBackward, raw.device(), cuda::backward_workspace(a.map));
  cuda::norm_backward(a, device::stream(raw.device()));
  return out;
}

class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& raw,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const std::optional<at::Tensor>& added, const at::Tensor& moments,
                            const std::optional<at::Tensor>& into, bool relu, bool relu6,
                            bool pool) {
    (void)weight;
    (void)bias;
    const at::Tensor residual = added.value_or(at::Tensor());
    FusedNorm plan;
    plan.relu = relu;
    plan.relu6 = relu6;
    plan.pool = pool;
    plan.into = into.value_or(at::Tensor());
    at::Tensor y = apply_norm(raw, moments, residual, plan, /*in_place=*/false);
    if (into) y = y.variable_data();  // an output must be no input
    // The mask of ReLU is redone from raw, except where something was added in between.
    const bool keep = relu && residual.defined();
    ctx->save_for_backward({raw, moments, keep ? y : at::Tensor()});
    ctx->saved_data["relu"] = relu;
    ctx->saved_data["relu6"] = relu6;
    ctx->saved_data["pool"] = pool;
    ctx->saved_data["residual"] = residual.defined();
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    RECORD_USER_SCOPE("adagp::norm");
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &raw = saved[0], &moments = saved[1], &y = saved[2];
    FusedNorm plan;
    plan.relu = ctx->saved_data["relu"].toBool();
    plan.relu6 = ctx->saved_data["relu6"].toBool();
    plan.pool = ctx->saved_data["pool"].toBool();
    const at::Tensor dy = plan.pool ? channels_last(gradients[0]) : device::pitched(gradients[0]);
    const auto [dx, terms, dz] =
        gradients_of(raw, moments, y, dy, {}, plan, ctx->saved_data["residual"].toBool());
    return {dx, terms[0], terms[1], dz, {}, {}, {}, {}, {}};
  }
};

class BranchFunction : public torch::autograd::Function<BranchFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx,
                                                const at::Tensor& x, const at::Tensor& weight,
                                                const at::Tensor& bias, const at::Tensor& moments) {
    (void)weight;
    (void)bias;
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({x, moments});
    return {apply_norm(x, moments, {}, branch_plan(), /*in_place=*/false), x.variable_data()};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    RECORD_USER_SCOPE("adagp::norm");
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &dy = gradients[0], &rest = gradients[1];
    if (!dy.defined()) return {rest, {}, {}, {}};
    const auto [dx, terms, dz] =
        gradients_of(device::pitched(saved[0]), saved[1], {}, channels_last(dy),
                     rest.defined() ? device::pitched(rest) : rest, branch_plan(), false);
    return {dx, terms[0], terms[1], {}};
  }

  static FusedNorm branch_plan() {
    FusedNorm plan;
    plan.relu = true;
    return plan;
  }
};

// The bias before a norm has no influence on the loss.
void give_zero_gradient(const at::Tensor& conv_bias, BatchNorm2dImpl& norm) {
  if (!conv_bias.defined() || !conv_bias.requires_grad() || conv_bias.grad().defined()) return;
  conv_bias.mutable_grad() = norm.zeros();
}

}  // namespace

bool fusable(const BatchNorm2dImpl& norm, const at::Tensor& x) {
  // Gradients of an evaluation-mode norm are left to autograd: only the training mode has a kernel.
  return norm_sync() == nullptr && device::has_kernels(x.device()) && device::has_type(x) &&
         norm.weight.scalar_type() == at::kFloat &&
         (norm.is_training() || !at::GradMode::is_enabled());
}

at::Tensor fused_norm(const at::Tensor& raw, const at::Tensor& conv_bias, BatchNorm2dImpl& norm,
                      const at::Tensor& residual, const FusedNorm& plan) {
  RECORD_USER_SCOPE("adagp::norm");  // for experiment/kind_timer.h
  const at::Tensor moments = empty_moments(raw);
  const at::Tensor added = residual.defined() ? channels_last(residual) : residual;
  if (!norm.is_training()) {
    cuda::EvalScaleArgs a{raw.size(1),
                          floats(norm.weight),
                          floats(norm.bias),
                          floats(conv_bias),
                          floats(norm.running_mean),
                          floats(norm.running_var),
                          static_cast<float>(norm.eps()),
                          row(moments, kScale),
                          row(moments, kShift)};
    cuda::eval_scale(a, device::stream(raw.device()));
    return apply_norm(raw, moments, added, plan, plan.overwrite);
  }
  take_statistics(raw, conv_bias, norm, plan, moments);
  if (!at::GradMode::is_enabled()) return apply_norm(raw, moments, added, plan, plan.overwrite);
  give_zero_gradient(conv_bias, norm);
  // An undefined tensor must not reach the function: it would ask for its device.
  const auto optional = [](const at::Tensor& x) {
    return x.defined() ? std::optional<at::Tensor>(x) : std::nullopt;
  };
  return NormFunction::apply(raw, norm.weight, norm.bias, optional(added), moments,
                             optional(plan.into), plan.relu, plan.relu6, plan.pool);
}

NormBranch fused_norm_branch(const at::Tensor& x, BatchNorm2dImpl& norm,
                             const std::optional<ChannelStatistics>& known) {
  FusedNorm plan = BranchFunction::branch_plan();
  plan.known = known;
  if (!norm.is_training() || !at::GradMode::is_enabled()) {
    return {fused_norm(x, {}, norm, {}, plan), x};
  }
  RECORD_USER_SCOPE("adagp::norm");
  const at::Tensor moments = empty_moments(x);
  take_statistics(x, {}, norm, plan, moments);
  const auto out = BranchFunction::apply(x, norm.weight, norm.bias, moments);
  return {out[0], out[1]};
}

}  // namespace adagp::nn
