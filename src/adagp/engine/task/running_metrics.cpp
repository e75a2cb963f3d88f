#include "adagp/engine/task/running_metrics.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::task {

RunningMetrics::RunningMetrics(at::Device device, bool kernels) {
  if (kernels) sums_ = at::zeros({4}, at::TensorOptions(device).dtype(at::kDouble));
}

void RunningMetrics::add(const at::Tensor& loss, const at::Tensor& logits,
                         const at::Tensor& labels) {
  loss_.add(loss, labels.size(0));
  accuracy_.add(logits, labels);
}

void RunningMetrics::add_sums(const at::Tensor& sums) {
  if (!sums_.defined()) {
    // Beginning with what a checkpoint left, so that a resumed run adds in the same order.
    const std::vector<double> before = state();
    reset();
    sums_ = at::tensor(before, at::kDouble).to(sums.device());
  }
  sums_.add_(sums);
}

RunningMetrics::Values RunningMetrics::read() const {
  const auto accuracy = accuracy_.state();
  const Values out{loss_.state()[0], accuracy[1], accuracy[2], accuracy[0]};
  if (!sums_.defined()) return out;
  const at::Tensor host = sums_.cpu();
  const auto* v = host.const_data_ptr<double>();
  return {out.loss_sum + v[0], out.first + v[1], out.five + v[2], out.count + v[3]};
}

void RunningMetrics::reset() {
  if (sums_.defined()) sums_.zero_();
  loss_.reset();
  accuracy_.reset();
}

std::vector<double> RunningMetrics::state() const {
  const Values v = read();
  return {v.loss_sum, v.first, v.five, v.count};
}

void RunningMetrics::load_state(const std::vector<double>& state) {
  if (state.size() != 4) throw DataError(core::cat("saved tally: ", state.size(), " numbers of 4"));
  reset();
  if (sums_.defined()) {
    sums_.copy_(at::tensor(state, at::kDouble));
    return;
  }
  loss_.load_state({state[0], state[3]});
  accuracy_.load_state({state[3], state[1], state[2]});
}

}  // namespace adagp::task
