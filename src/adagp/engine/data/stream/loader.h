#pragma once
// Batches of images with labels.

#include <functional>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/data/stream/planner.h"

namespace adagp::data {

struct LoaderOptions {
  int64_t batch = 128;
  bool shuffle = true;
  bool drop_last = true;
  uint64_t seed = 0;
  int64_t workers = 1;   // prefetching threads; 0 = in the caller. Unused when the data is on a GPU
  int64_t prefetch = 2;  // batches made ahead
  // Batches that the caller will skip(): they are not made ahead. Empty = none is known.
  std::function<bool(int64_t epoch, int64_t position)> skips;
  Planner plan;  // epochs that are decided as they begin; empty: all examples, batches of `batch`
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;  // of the images; bf16 only on a GPU
  AugmentOptions augment;
};

class Loader : public BatchSource {
 public:
  // Throws UsageError when there is not one whole batch, or an option cannot be.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader() override;

  int64_t batches_per_epoch() const override;
  void seek(int64_t epoch, int64_t position) override;
  Batch next() override;
  void skip() override;
  void only_part(int64_t part, int64_t parts) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adagp::data
