#include "adagp/engine/models/transformer_layers.h"

#include <ATen/ATen.h>

#include "adagp/engine/nn/ops.h"

namespace adagp::models {

std::shared_ptr<nn::MultiheadAttentionImpl> FeedForwardLayer::add_attention(
    const std::string& name) {
  return register_module(name,
                         nn::MultiheadAttention(sizes_.width, sizes_.heads, sizes_.dropout).ptr());
}

void FeedForwardLayer::add_linears() {
  linear1_ = register_module("linear1", nn::Linear(sizes_.width, sizes_.hidden));
  linear2_ = register_module("linear2", nn::Linear(sizes_.hidden, sizes_.width));
}

std::shared_ptr<nn::LayerNormImpl> FeedForwardLayer::add_norm(const std::string& name) {
  return register_module(name, nn::LayerNorm(sizes_.width).ptr());
}

at::Tensor FeedForwardLayer::feed_forward(const at::Tensor& x) {
  return linear2_->forward(
      nn::dropout(nn::relu_(linear1_->forward(x)), sizes_.dropout, is_training()));
}

at::Tensor FeedForwardLayer::residual(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor kept = nn::dropout(y, sizes_.dropout, is_training());
  // With y in bf16 the sum keeps the precision of x.
  const bool mixed = !x.is_meta() && x.scalar_type() != kept.scalar_type();
  return mixed ? x + kept : nn::add_(kept, x);
}

EncoderLayer::EncoderLayer(const LayerSizes& sizes) : FeedForwardLayer(sizes) {
  self_attn_ = add_attention("self_attn");
  add_linears();
  norm1_ = add_norm("norm1");
  norm2_ = add_norm("norm2");
}

at::Tensor EncoderLayer::forward(const at::Tensor& given, const at::Tensor& mask) {
  const at::Tensor x = norm1_->forward(residual(given, self_attn_->forward(given, {mask})));
  return norm2_->forward(residual(x, feed_forward(x)));
}

DecoderLayer::DecoderLayer(const LayerSizes& sizes) : FeedForwardLayer(sizes) {
  self_attn_ = add_attention("self_attn");
  multihead_attn_ = add_attention("multihead_attn");
  add_linears();
  norm1_ = add_norm("norm1");
  norm2_ = add_norm("norm2");
  norm3_ = add_norm("norm3");
}

at::Tensor DecoderLayer::forward(const at::Tensor& given, const at::Tensor& memory,
                                 const at::Tensor& mask) {
  at::Tensor x = norm1_->forward(residual(given, self_attn_->forward(given, {{}, true})));
  x = norm2_->forward(residual(x, multihead_attn_->forward(x, memory, {mask})));
  return norm3_->forward(residual(x, feed_forward(x)));
}

}  // namespace adagp::models
