#pragma once
// A data set that lies on the GPU as bytes: one small copy per epoch says what happens to each
// example, one kernel per batch does it.

#include <cstdint>
#include <functional>
#include <future>
#include <vector>

#include <torch/types.h>

#include "adagp/data/augment.h"

namespace adagp::data {

class ResidentBatches {
 public:
  // images u8 [N, H, W, 3] on a GPU that runs our kernels, labels of all N.
  ResidentBatches(at::Tensor images, const std::vector<int64_t>& labels,
                  const AugmentOptions& options, uint64_t seed, at::ScalarType dtype,
                  bool alike = false);  // every epoch is the same: no shuffling, no augmentation
  ~ResidentBatches();

  using Order = std::function<std::vector<int64_t>(int64_t epoch)>;
  // The examples at order(epoch)[begin .. begin + count], augmented. The plan of the next epoch is
  // made ahead by a thread, so `order` is a pure function.
  void make(int64_t epoch, int64_t begin, int64_t count, const Order& order, at::Tensor& images,
            at::Tensor& labels);

 private:
  using Plan = std::vector<cuda::Window>;
  Plan plan(int64_t epoch, const Order& order) const;
  void begin_epoch(int64_t epoch, const Order& order);

  at::Tensor images_, labels_;  // on the device
  AugmentOptions options_;
  uint64_t seed_;
  at::ScalarType dtype_;
  bool alike_;
  int64_t epoch_ = -1, ahead_epoch_ = -1;
  std::future<Plan> ahead_;
  at::Tensor windows_;  // bytes of the epoch's plan, on the device
};

}  // namespace adagp::data
