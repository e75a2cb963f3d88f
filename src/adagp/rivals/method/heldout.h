#pragma once
// Training examples that are kept out of training, to measure progress on.

#include <vector>

#include "adagp/engine/step/session.h"

namespace adagp::method {

class HeldOut {
 public:
  // Loads them, as evaluation sees images; they stay on the device.
  explicit HeldOut(step::Session& session);

  // The mean loss, with the norms' statistics of the examples themselves: running ones lag behind
  // and would be the larger part of what is measured. Waits for the device.
  double loss(step::Session& session) const;
  int64_t examples() const { return examples_; }

 private:
  std::vector<data::Batch> batches_;
  int64_t examples_ = 0;
};

}  // namespace adagp::method
