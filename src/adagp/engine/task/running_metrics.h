#pragma once
// Running figures of the batches seen: loss, first answers right, right among the first five.

#include <vector>

#include <torch/types.h>

#include "adagp/engine/metrics/meters.h"

namespace adagp::task {

class RunningMetrics {
 public:
  RunningMetrics() = default;
  // With kernels, the figures are summed on the device by the kernel that takes the loss.
  RunningMetrics(at::Device device, bool kernels);

  struct Values {
    double loss_sum = 0, first = 0, five = 0, count = 0;
    double loss() const { return loss_sum / count; }  // NaN before the first example
    double top1() const { return 100.0 * first / count; }
    double top5() const { return 100.0 * five / count; }
  };
  void add(const at::Tensor& loss, const at::Tensor& logits, const at::Tensor& labels);
  // {sum of losses, first, five, count}, double [4] on the device: for tasks that count otherwise.
  void add_sums(const at::Tensor& sums);
  double* device_sums() { return sums_.mutable_data_ptr<double>(); }  // [4], for the kernel
  Values read() const;                                                // waits for the device
  void reset();

  std::vector<double> state() const;                  // of read()
  void load_state(const std::vector<double>& state);  // throws DataError

 private:
  metrics::Mean loss_;
  metrics::TopK accuracy_;
  at::Tensor sums_;  // double [4], on a GPU with kernels or after add_sums()
};

}  // namespace adagp::task
