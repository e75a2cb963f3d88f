#include "adagp/engine/nn/attention.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/products.h"

namespace adagp::nn {
namespace {

LayerInfo in_projection(int64_t width, int64_t heads) {
  if (heads < 1 || width < 1 || width % heads != 0) {
    throw UsageError(core::cat("attention of width ", width, " with ", heads,
                               " heads: the heads must divide the width"));
  }
  LayerInfo info;
  info.kind = LayerKind::kLinear;
  info.in = width;
  info.out = 3 * width;
  return info;
}

// What at::scaled_dot_product_attention takes beside is_causal: bool, broadcast to [B, H, T, S].
std::optional<at::Tensor> joint_mask(const AttentionMask& mask, int64_t queries, int64_t keys) {
  if (!mask.keys.defined()) return {};
  const at::Tensor of_keys = mask.keys.unsqueeze(1).unsqueeze(1);  // [B, 1, 1, S]
  if (!mask.causal) return of_keys;
  return of_keys.logical_and(at::ones({queries, keys}, mask.keys.options()).tril());
}

at::Tensor attend_shapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto options = q.options().device(at::kMeta);
  const at::Tensor keys = at::empty({k.size(0), k.size(1), k.size(3), k.size(2)}, options);
  const at::Tensor scores = at::empty({q.size(0), q.size(1), q.size(2), k.size(2)}, options);
  const at::Tensor y = at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, options);
  report_op("matmul", {q, keys}, scores);
  report_op("softmax", {scores}, scores);
  report_op("matmul", {scores, v}, y);
  return y;
}

}  // namespace

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const AttentionMask& mask, double dropout) {
  if (mask.causal && q.size(2) != k.size(2)) {
    throw Error(core::cat("causal attention of ", q.size(2), " queries over ", k.size(2), " keys"));
  }
  if (q.is_meta()) return attend_shapes(q, k, v);
  const auto joint = joint_mask(mask, q.size(2), k.size(2));
  return at::scaled_dot_product_attention(q, k, v, joint, dropout, mask.causal && !joint);
}

MultiheadAttentionImpl::MultiheadAttentionImpl(int64_t width, int64_t heads, double dropout)
    : WeightLayer(in_projection(width, heads), true, {"in_proj_weight", "in_proj_bias"}),
      width_(width),
      heads_(heads),
      dropout_(dropout) {
  out_proj = register_module("out_proj", Linear(width, width));
}

at::Tensor MultiheadAttentionImpl::project(const at::Tensor& x, int64_t first,
                                           int64_t count) const {
  if (x.dim() != 3 || x.size(2) != width_) {
    throw UsageError(
        core::cat(describe(), ": input ", x.sizes(), ", expected [B, T, ", width_, "]"));
  }
  if (x.is_meta() || weight.is_meta()) {
    return at::empty({x.size(0), x.size(1), count}, x.options().device(at::kMeta));
  }
  const bool all = count == info().out;
  const at::Tensor w = all ? used_weight() : used_weight().narrow(0, first, count);
  const at::Tensor b = all ? used_bias() : used_bias().narrow(0, first, count);
  if (has_rule()) return rule->product(*this, x, w, b);
  return product(info(), in_precision(x), w, b);
}

std::vector<at::Tensor> MultiheadAttentionImpl::split_heads(const at::Tensor& x) const {
  return x.view({x.size(0), x.size(1), -1, heads_, width_ / heads_})
      .permute({2, 0, 3, 1, 4})
      .unbind(0);
}

at::Tensor MultiheadAttentionImpl::finish(const at::Tensor& q, const at::Tensor& k,
                                          const at::Tensor& v, const AttentionMask& mask) {
  const at::Tensor mean = attend(q, k, v, mask, is_training() ? dropout_ : 0);
  return out_proj->forward(mean.transpose(1, 2).reshape({q.size(0), q.size(2), width_}));
}

at::Tensor MultiheadAttentionImpl::forward(const at::Tensor& x, const AttentionMask& mask) {
  const at::Tensor all = project(x, 0, 3 * width_);
  report(x, all);
  const auto parts = split_heads(all);
  return finish(parts[0], parts[1], parts[2], mask);
}

at::Tensor MultiheadAttentionImpl::forward(const at::Tensor& x, const at::Tensor& memory,
                                           const AttentionMask& mask) {
  const at::Tensor queries = project(x, 0, width_);
  const at::Tensor others = project(memory, width_, 2 * width_);
  if (TapSink* sink = active_sink()) {
    sink->on_part(*this, 0, x, queries);
    sink->on_part(*this, width_, memory, others);
  }
  const auto kv = split_heads(others);
  return finish(split_heads(queries)[0], kv[0], kv[1], mask);
}

}  // namespace adagp::nn
