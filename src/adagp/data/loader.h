#pragma once
// Batches in an order that is a pure function of (seed, epoch): any position can be resumed, and
// neither threads nor skipped batches change what a batch contains.

#include <functional>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "adagp/data/augment.h"
#include "adagp/data/dataset.h"

namespace adagp::data {

struct Batch {
  at::Tensor images;  // [B, 3, H, W], channels-last, normalised, on the loader's device
  at::Tensor labels;  // int64 [B]
  std::vector<int64_t> indices;
  int64_t epoch = 0, position = 0;
};

struct LoaderOptions {
  int64_t batch = 128;
  bool shuffle = true;
  bool drop_last = true;
  uint64_t seed = 0;
  int64_t workers = 1;   // prefetching threads; 0 = in the caller. Unused when the data is on a GPU
  int64_t prefetch = 2;  // batches made ahead
  // Batches that the caller will skip(): they are not made ahead. Empty = none is known.
  std::function<bool(int64_t epoch, int64_t position)> skips;
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;  // of the images; bf16 only on a GPU
  AugmentOptions augment;
};

class Loader {
 public:
  // Throws UsageError when there is not one whole batch, or an option cannot be.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader();

  int64_t batches_per_epoch() const;
  // The next call of next() gives batch `position` of `epoch`; the end of an epoch is the start of
  // the next one.
  void seek(int64_t epoch, int64_t position);
  // The batch at the current position, which then moves on by one, into the next epoch at its end.
  // What went wrong in a prefetching thread is thrown here.
  Batch next();
  // Moves on without making the batch; one that was already made ahead is dropped.
  void skip();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adagp::data
