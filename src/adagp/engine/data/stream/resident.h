#pragma once
// A data set that lies on the GPU as bytes: one small copy per epoch says what happens to each
// example, one kernel per batch does it.

#include <cstdint>
#include <functional>
#include <future>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/data/image/augment.h"

namespace adagp::data {

// What is known of the epochs to come.
enum class Epochs {
  kForeseen,  // their order is a pure function: the next one is prepared by a thread
  kAlike,     // all are the same: no shuffling, no augmentation
  kLate,      // the order of each is known when it begins; what happens to an example is prepared
};

class ResidentBatches {
 public:
  // images u8 [N, H, W, 3] on a GPU that runs our kernels, labels of all N.
  ResidentBatches(at::Tensor images, const std::vector<int64_t>& labels,
                  const AugmentOptions& options, uint64_t seed, at::ScalarType dtype,
                  Epochs epochs = Epochs::kForeseen);
  ~ResidentBatches();

  using Order = std::function<std::vector<int64_t>(int64_t epoch)>;
  // The examples at order(epoch)[begin .. begin + count], augmented.
  void make(int64_t epoch, int64_t begin, int64_t count, const Order& order, at::Tensor& images,
            at::Tensor& labels);

 private:
  using Plan = std::vector<cuda::Window>;
  Plan plan(int64_t epoch, const Order& order) const;
  Plan plan_of_all(int64_t epoch) const;
  Plan late_plan(int64_t epoch, const Order& order);
  void begin_epoch(int64_t epoch, const Order& order);

  at::Tensor images_, labels_;  // on the device
  AugmentOptions options_;
  uint64_t seed_;
  at::ScalarType dtype_;
  Epochs epochs_;
  int64_t epoch_ = -1, ahead_epoch_ = -1;
  std::future<Plan> ahead_;
  at::Tensor windows_;  // bytes of the epoch's plan, on the device
};

}  // namespace adagp::data
