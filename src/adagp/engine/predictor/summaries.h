#pragma once
// Tensor reorganisation: what the predictor sees of a layer's output.
//
// (B, C, H, W) is averaged over the batch and pooled to size x size; every output channel becomes
// one row. All layers share one preallocated tensor, filled while the forward pass runs.
//
// A kind of predictor may ask for another form: pooled by maxima, with one row for a layer that
// has no map.

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/summary_cells.h"

namespace adagp::predictor {

enum class Pooling { kMeans, kMaxima };

struct SummaryForm {
  int64_t size;
  Pooling pooling = Pooling::kMeans;
};

// Batch mean in fp32, pooled by means: [C, size*size].
//   [B, C, H, W]  average-pooled, or repeated where the map is smaller than size
//   [B, T, C]     T is the spatial axis: pooled along one side, repeated along the other
//   [B, C]        one value per row, repeated
// Pooled by maxima:
//   [B, C, H, W]  batch mean, max-pooled: [C, size*size]
//   [B, T, C]     batch mean, one image of T x C, max-pooled: [1, size*size]
//   [B, C]        one image of B x C, max-pooled: [1, size*size]
at::Tensor reorganise(const at::Tensor& output, nn::LayerKind kind, int64_t size,
                      Pooling pooling = Pooling::kMeans);

class Summaries : public nn::TapSink {
 public:
  Summaries(std::vector<nn::WeightLayer*> layers, int64_t size, Pooling pooling = Pooling::kMeans);

  // Starts a batch whose forward pass runs in `parts` micro-batches, whose means are averaged.
  void begin(int64_t parts = 1);
  // Ends the forward pass: rows() are then complete, but for those that take_rows() gave away.
  void end();
  // `after` is called when a layer has reported, perhaps inside another layer that has begun and is
  // not done: a convolution whose output is added to that of a shortcut. Empty: nobody.
  void watch(std::function<void()> after) { watch_ = std::move(after); }
  // Whether all that the layer's summary needs is queued.
  bool has_reported(size_t index) const { return reported_[index] != 0 || cells_[index].queued; }
  // Rows that wait for their layer's cells: takes away those of the layers of `which` that have
  // reported. The caller must make them, by make_rows().
  std::vector<size_t> take_rows(const std::vector<char>& which);
  // Makes the rows of these layers, on the current stream.
  void make_rows(const std::vector<size_t>& layers);
  // Of the last batch that came to its end().
  bool each_used_once() const { return each_used_once_; }
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override;
  void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override;
  std::optional<SummaryTarget> summary_target(const nn::WeightLayer& layer) override;
  void on_summary(const nn::WeightLayer& layer) override;

  size_t count() const { return layers_.size(); }
  const nn::WeightLayer& layer(size_t index) const { return *layers_[index]; }
  const std::vector<nn::WeightLayer*>& layers() const { return layers_; }
  int64_t size() const { return size_; }
  const at::Tensor& rows() const { return rows_; }  // float [rows of all layers, size*size]
  at::Tensor rows(size_t index) const;              // those of one layer
  int64_t offset(size_t index) const { return offsets_[index]; }

  // For exact heads: their inputs are kept until the next batch.
  void keep_input_of(size_t index) { kept_inputs_[index] = at::Tensor(); }
  const at::Tensor& kept_input(size_t index) const { return kept_inputs_.at(index); }

  // For the control that is fed the batch before: swaps in the other's rows.
  void swap_rows(at::Tensor& other) { std::swap(rows_, other); }

 private:
  size_t checked_index(const nn::WeightLayer& layer) const;
  int64_t rows_of(const nn::WeightLayer& layer) const;
  void make_all_rows();
  // Puts the summary of `output` into these rows, or into the mean of their uses.
  void summarise(const at::Tensor& output, nn::LayerKind kind, const at::Tensor& to, int64_t use);
  // By our kernel, when it can; false: not done.
  bool summarise_by_kernel(const at::Tensor& output, nn::LayerKind kind, SummaryTarget target);

  std::vector<nn::WeightLayer*> layers_;
  std::unordered_map<const nn::WeightLayer*, size_t> places_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> seen_;   // uses in this batch, with the present one
  std::vector<char> reported_;  // by tensors, not by cells
  std::map<std::pair<size_t, int64_t>, int64_t> parts_seen_;  // by layer and first row
  int64_t size_;
  Pooling pooling_;
  std::vector<nn::SummaryCells> cells_;  // by layer
  // Layers whose rows are still to be made from cells, and that nobody has taken.
  std::vector<size_t> pending_;
  int64_t parts_ = 1;
  bool each_used_once_ = false;
  std::function<void()> watch_;
  at::Tensor rows_;
  std::map<size_t, at::Tensor> kept_inputs_;  // by layer
};

}  // namespace adagp::predictor
