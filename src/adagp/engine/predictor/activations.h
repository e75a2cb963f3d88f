#pragma once
// What predictors may see beside the summaries: the tensors at the layers themselves.
//
// Memory: inputs are what a backward pass keeps anyway, so that a GP batch with them holds as much
// as a BP batch without its gradients, not as little as inference. Outputs are copies, as networks
// go on writing in them; deltas are as large as the outputs.

#include <unordered_map>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::predictor {

// What a predictor asks to be kept of a batch.
struct Needs {
  bool inputs = false;     // of the layers
  bool outputs = false;    // of the layers, before anything follows
  bool deltas = false;     // gradients of the loss by the outputs, on BP batches
  bool last_only = false;  // of the last layer alone
  bool any() const { return inputs || outputs || deltas; }
};

class Activations : public nn::TapSink {
 public:
  Activations(const std::vector<nn::WeightLayer*>& layers, Needs needs);

  // Forgets the batch before.
  void clear();
  // Throws UsageError when a layer runs for a second time since clear(), or only in part: which
  // delta belongs to which input is then more than is kept here.
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override;
  void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override;

  // Each throws Error where the batch has none: not asked for, or not backpropagated.
  const at::Tensor& input(size_t layer) const;
  const at::Tensor& output(size_t layer) const;
  const at::Tensor& delta(size_t layer) const;
  // Of the output: [B, C, H, W] or [B, ..., C].
  const std::vector<int64_t>& shape(size_t layer) const;

 private:
  struct Kept {
    at::Tensor input, output, delta;
    std::vector<int64_t> shape;  // empty: not seen
  };
  const at::Tensor& found(size_t layer, const at::Tensor& tensor, const char* what) const;

  std::vector<nn::WeightLayer*> layers_;
  std::unordered_map<const nn::WeightLayer*, size_t> places_;
  Needs needs_;
  std::vector<Kept> kept_;
};

// Several sinks of one pass. None of them is offered to have its summary made by a kernel, as the
// others want to see the tensors.
class TapFan : public nn::TapSink {
 public:
  explicit TapFan(std::vector<nn::TapSink*> sinks) : sinks_(std::move(sinks)) {}
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    for (auto* sink : sinks_) sink->on_output(layer, input, output);
  }
  void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override {
    for (auto* sink : sinks_) sink->on_part(layer, first, input, output);
  }

 private:
  std::vector<nn::TapSink*> sinks_;
};

// One example a row, in an order that does not depend on the memory layout: [B, C, H, W] becomes
// [B, H*W*C], without a copy where it is channels-last; others are flattened as they are.
at::Tensor example_rows(const at::Tensor& x);
// The inverse: rows [n, ...] in the shape of x, whose first size is replaced by n.
at::Tensor from_rows(const at::Tensor& rows, const std::vector<int64_t>& shape);

}  // namespace adagp::predictor
