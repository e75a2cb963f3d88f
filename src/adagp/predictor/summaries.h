#pragma once
// Tensor reorganisation: what the predictor sees of a layer's output.
//
// (B, C, H, W) is averaged over the batch and pooled to size x size; every output channel becomes
// one row. All layers share one preallocated tensor, filled while the forward pass runs.

#include <vector>

#include <torch/types.h>

#include "adagp/nn/layer.h"

namespace adagp::predictor {

// Batch mean in fp32, pooled: [C, size*size].
//   [B, C, H, W]  average-pooled, or repeated where the map is smaller than size
//   [B, T, C]     T is the spatial axis: pooled along one side, repeated along the other
//   [B, C]        one value per row, repeated
at::Tensor reorganise(const at::Tensor& output, nn::LayerKind kind, int64_t size);

class Summaries : public nn::TapSink {
 public:
  Summaries(std::vector<nn::WeightLayer*> layers, int64_t size);

  // Starts a batch whose forward pass runs in `parts` micro-batches, whose means are averaged.
  void begin(int64_t parts = 1);
  // Ends the forward pass: rows() are then complete.
  void end();
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override;
  std::optional<SummaryTarget> summary_target(const nn::WeightLayer& layer) override;

  size_t count() const { return layers_.size(); }
  const nn::WeightLayer& layer(size_t index) const { return *layers_[index]; }
  const std::vector<nn::WeightLayer*>& layers() const { return layers_; }
  int64_t size() const { return size_; }
  const at::Tensor& rows() const { return rows_; }  // float [all filters, size*size]
  at::Tensor rows(size_t index) const;              // those of one layer
  int64_t offset(size_t index) const { return offsets_[index]; }

  // For the exact head: its input is kept until the next batch.
  void keep_input_of(size_t index) { kept_ = static_cast<int64_t>(index); }
  const at::Tensor& kept_input() const { return kept_input_; }

  // For the control that is fed the batch before: swaps in the other's rows.
  void swap_rows(at::Tensor& other) { std::swap(rows_, other); }

 private:
  size_t checked_index(const nn::WeightLayer& layer) const;
  // Makes the rows of layers that so far left only sums by cell.
  void pool_pending();
  // By our kernel, when it can; false: not done.
  bool summarise_by_kernel(const at::Tensor& output, nn::LayerKind kind, SummaryTarget target);

  std::vector<nn::WeightLayer*> layers_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> seen_;
  int64_t size_;
  std::vector<SummaryTarget::Cells> cells_;  // by layer
  std::vector<size_t> pending_;              // layers whose rows are still to be made from cells
  int64_t parts_ = 1;
  int64_t kept_ = -1;
  at::Tensor rows_;
  at::Tensor kept_input_;
};

}  // namespace adagp::predictor
