#pragma once
// What a step is given, and where steps get it from.

#include <vector>

#include <torch/types.h>

namespace adagp::data {

using Tensors = std::vector<at::Tensor>;

// The examples are the first axis of every tensor.
//   classification: {images [B, 3, H, W]}, {labels int64 [B]}
//   detection:      {images}, {boxes float [B, most, 5]: class, centre, size; class -1 = none}
//   translation:    {source int64 [B, S], target [B, T]}, {the words that follow, int64 [B, T]}
struct Batch {
  Tensors inputs;  // images are channels-last and normalised; on the device
  Tensors targets;
  // Where a method asks for them: the numbers of the examples in the data set, int64 [B], and what
  // the loss of each counts, float [B]; on the device.
  at::Tensor examples = {}, weights = {};
  std::vector<int64_t> indices = {};
  int64_t epoch = 0, position = 0;
  // Examples of the batch that processes share, of which this is a part; 0: all parts are equal.
  int64_t whole = 0;

  bool empty() const { return inputs.empty(); }
  int64_t size() const { return inputs.at(0).size(0); }
  const at::Tensor& images() const { return inputs.at(0); }
  const at::Tensor& labels() const { return targets.at(0); }
  // Examples begin .. begin + count, without their indices.
  Batch part(int64_t begin, int64_t count) const;
};

// Batches in an order that is a pure function of (seed, epoch): any position can be resumed, and
// neither threads nor skipped batches change what a batch contains.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t batches_per_epoch() const = 0;
  // The next call of next() gives batch `position` of `epoch`; the end of an epoch is the start of
  // the next one.
  virtual void seek(int64_t epoch, int64_t position) = 0;
  // The batch at the current position, which then moves on by one, into the next epoch at its end.
  // What went wrong in a prefetching thread is thrown here.
  virtual Batch next() = 0;
  // Moves on without making the batch; one that was already made ahead is dropped.
  virtual void skip() = 0;
  // Of every batch only part `part` of `parts` is made from now on (EpochPlan::Part::share). Called
  // before the first batch.
  virtual void only_part(int64_t part, int64_t parts) = 0;
};

}  // namespace adagp::data
