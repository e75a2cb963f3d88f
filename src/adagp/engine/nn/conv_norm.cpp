#include "adagp/engine/nn/conv_norm.h"

#include <ATen/ATen.h>

#include "adagp/engine/nn/fused_norm.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor step_by_step(Conv2dImpl& conv, BatchNorm2dImpl& norm, const at::Tensor& x,
                        const NormAct& act) {
  at::Tensor y = norm.forward(conv.forward(x));
  if (act.residual) y = nn::add_(y, act.residual());
  if (act.relu) y = nn::relu_(y);
  if (act.relu6) y = nn::relu6_(y);
  return act.pool ? nn::max_pool2d(y, *act.pool) : y;
}

bool fuses_pool(const Pool2d& pool, const at::Tensor& raw) {
  return pool.kernel == 2 && pool.stride == 2 && pool.padding == 0 && raw.size(2) % 2 == 0 &&
         raw.size(3) % 2 == 0;
}

// product: the convolution's, of x.
template <typename Product>
at::Tensor conv_norm_with(const Product& product, Conv2dImpl& conv, BatchNorm2dImpl& norm,
                          const at::Tensor& x, const NormAct& act) {
  if (!fusable(norm, x)) return step_by_step(conv, norm, x, act);
  std::optional<TapSink::SummaryTarget> summary;
  TapSink* sink = active_sink();
  if (sink != nullptr) {
    // The tap's wish decides whether the convolution may keep its output to itself.
    summary = norm.is_training() ? sink->summary_target(conv) : std::nullopt;
    if (!summary) return step_by_step(conv, norm, x, act);
  }

  const at::Tensor raw = device::channels_last(product());
  FusedNorm plan;
  plan.relu = act.relu || act.relu6;
  plan.relu6 = act.relu6;
  plan.pool = act.pool && !act.residual && fuses_pool(*act.pool, raw);
  plan.overwrite = true;
  plan.summary = summary;
  if (act.place.map != nullptr && !act.pool && !act.residual) {
    plan.into = act.place.map->place(act.place.first_channel, raw);
  }
  const at::Tensor residual = act.residual ? act.residual() : at::Tensor();
  const at::Tensor y = fused_norm(raw, conv.bias, norm, residual, plan);
  if (summary) sink->on_summary(conv);
  return act.pool && !plan.pool ? nn::max_pool2d(y, *act.pool) : y;
}

}  // namespace

at::Tensor conv_norm(Conv2dImpl& conv, BatchNorm2dImpl& norm, const at::Tensor& x,
                     const NormAct& act) {
  return conv_norm_with([&] { return conv.product(x); }, conv, norm, x, act);
}

at::Tensor conv_norm_shared(Conv2dImpl& conv, BatchNorm2dImpl& norm, at::Tensor& x,
                            const NormAct& act) {
  return conv_norm_with([&] { return conv.shared_product(x); }, conv, norm, x, act);
}

at::Tensor norm_relu(BatchNorm2dImpl& norm, const at::Tensor& x) {
  if (!fusable(norm, x)) return nn::relu_(norm.forward(x));
  FusedNorm plan;
  plan.relu = true;
  return fused_norm(device::pitched(x), {}, norm, {}, plan);
}

}  // namespace adagp::nn
