#pragma once
// Multi-head attention with the parameters of torch.nn.MultiheadAttention.

#include <torch/nn/module.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

struct AttentionMask {
  at::Tensor keys;      // bool [B, S], true: takes part; undefined: all do
  bool causal = false;  // position t sees 0 .. t only; needs as many queries as keys
};

// softmax(q k' / sqrt(D)) v of q [B, H, T, D], k and v [B, H, S, D]; `dropout` acts on the weights
// of the mean. On meta tensors both products and the softmax are reported.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const AttentionMask& mask, double dropout = 0);

// The layer itself is the projection of the inputs, in_proj_weight [3 * width, width] with rows of
// queries, keys and values; out_proj is a layer of its own. Self-attention takes all rows at once
// and reports them as one product. Between two sequences the queries' rows see one of them and the
// others' rows the other: two products, reported as parts of the layer (TapSink::on_part), so that
// every row is summarised from the tokens it saw and the layer's gradient is predicted as a whole.
class MultiheadAttentionImpl : public WeightLayer {
 public:
  MultiheadAttentionImpl(int64_t width, int64_t heads, double dropout = 0);

  at::Tensor forward(const at::Tensor& x, const AttentionMask& mask);  // [B, T, width] -> the same
  // Queries from x [B, T, width], keys and values from memory [B, S, width].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& memory, const AttentionMask& mask);

  Linear out_proj{nullptr};

 private:
  // x times rows first .. first + count of the projection, with their bias.
  at::Tensor project(const at::Tensor& x, int64_t first, int64_t count) const;
  // [B, T, n * width] -> n times [B, heads, T, width / heads].
  std::vector<at::Tensor> split_heads(const at::Tensor& x) const;
  at::Tensor finish(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const AttentionMask& mask);

  int64_t width_, heads_;
  double dropout_;
};
TORCH_MODULE(MultiheadAttention);

}  // namespace adagp::nn
