#pragma once
// Accumulators of what a run measures: no I/O, and no wait for the device until they are read.

#include <cstdint>
#include <vector>

#include <torch/types.h>

namespace adagp::metrics {

// Share of examples whose label is the first, or among the first five, of the network's answers.
class TopK {
 public:
  struct Value {
    double top1 = 0;  // percent; NaN before the first example
    double top5 = 0;  // with fewer than five classes: among all of them
  };

  // logits [N, classes], labels [N] of integers, on the same device.
  void add(const at::Tensor& logits, const at::Tensor& labels);
  Value value() const;  // waits for the device
  int64_t count() const { return count_; }
  void reset();

  // {examples, top-1 hits, top-5 hits}: for a checkpoint in the middle of an epoch.
  std::vector<double> state() const;
  void load_state(const std::vector<double>& state);  // throws DataError

 private:
  struct Hits {
    int64_t first = 0, five = 0;
  };
  Hits hits() const;

  int64_t count_ = 0;
  Hits loaded_;        // from before a resume
  at::Tensor ranked_;  // [min(5, classes)] int64 on the device: hits at rank 0, 1, ...
};

// The weighted mean of scalars, those on a device summed there in fp64.
class Mean {
 public:
  void add(const at::Tensor& scalar, int64_t weight = 1);
  void add(double value, int64_t weight = 1);
  double value() const;  // waits for the device; NaN before the first value
  int64_t weight() const { return weight_; }
  void reset();

  // {sum, weight}.
  std::vector<double> state() const;
  void load_state(const std::vector<double>& state);  // throws DataError

 private:
  int64_t weight_ = 0;
  double host_sum_ = 0;
  at::Tensor device_sum_;
};

}  // namespace adagp::metrics
