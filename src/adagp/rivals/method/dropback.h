#pragma once
// The running estimate of a quantile that method dropback may use for its threshold.

#include <torch/types.h>

namespace adagp::method {

// The published estimator takes a tiny step after each weight; this one takes a step after each
// pass over all weights, which a GPU can, and makes its steps smaller when it went too far.
struct QuantileEstimate {
  at::Tensor gain, last;  // float [1] each, on the device: 0.5 and 0 at first

  // After a pass in which `kept` (int64 [1]) of `count` weights were above `threshold` (float [1])
  // and `keep` should have been. Where `moves` (float [1]) is 0 the threshold stays. Waits for
  // nothing.
  void follow(at::Tensor& threshold, const at::Tensor& kept, int64_t keep, int64_t count,
              const at::Tensor& moves);
};

}  // namespace adagp::method
