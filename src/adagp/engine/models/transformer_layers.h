#pragma once
// The layers of torch.nn.Transformer, norm after each sublayer, with its names.

#include <memory>
#include <string>

#include "adagp/engine/nn/attention.h"
#include "adagp/engine/nn/layer_norm.h"

namespace adagp::models {

struct LayerSizes {
  int64_t width, heads, hidden;
  double dropout;
};

// What encoder and decoder layers share.
class FeedForwardLayer : public torch::nn::Module {
 protected:
  explicit FeedForwardLayer(const LayerSizes& sizes) : sizes_(sizes) {}

  // Registered in the order of the calls, which is that of the reference.
  std::shared_ptr<nn::MultiheadAttentionImpl> add_attention(const std::string& name);
  void add_linears();
  std::shared_ptr<nn::LayerNormImpl> add_norm(const std::string& name);

  at::Tensor feed_forward(const at::Tensor& x);
  // x + dropout(y), where y is the output of a linear layer and may be overwritten.
  at::Tensor residual(const at::Tensor& x, const at::Tensor& y);

 private:
  LayerSizes sizes_;
  nn::Linear linear1_{nullptr}, linear2_{nullptr};
};

class EncoderLayer : public FeedForwardLayer {
 public:
  explicit EncoderLayer(const LayerSizes& sizes);
  at::Tensor forward(const at::Tensor& given, const at::Tensor& mask);

 private:
  std::shared_ptr<nn::MultiheadAttentionImpl> self_attn_;
  std::shared_ptr<nn::LayerNormImpl> norm1_, norm2_;
};

class DecoderLayer : public FeedForwardLayer {
 public:
  explicit DecoderLayer(const LayerSizes& sizes);
  // The target needs no mask of its own: filled-up positions follow the words, which look back
  // only. `mask` is the memory's.
  at::Tensor forward(const at::Tensor& given, const at::Tensor& memory, const at::Tensor& mask);

 private:
  std::shared_ptr<nn::MultiheadAttentionImpl> self_attn_, multihead_attn_;
  std::shared_ptr<nn::LayerNormImpl> norm1_, norm2_, norm3_;
};

}  // namespace adagp::models
