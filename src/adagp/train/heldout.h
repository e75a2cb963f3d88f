#pragma once
// Training examples that are kept out of training, to measure progress on.

#include <vector>

#include "adagp/train/selection.h"
#include "adagp/train/session.h"

namespace adagp::train {

// All examples but those held out.
std::vector<float> all_but_heldout_rule(const Config& config, const SelectionCase& now);
// Their numbers: a pure function of the seed and the data set's size.
std::vector<int64_t> heldout_examples(const Config& config, int64_t examples);

class HeldOut {
 public:
  // Loads them, as evaluation sees images; they stay on the device.
  explicit HeldOut(Session& session);

  // The mean loss, with the norms' statistics of the examples themselves: running ones lag behind
  // and would be the larger part of what is measured. Waits for the device.
  double loss(Session& session) const;
  int64_t examples() const { return examples_; }

 private:
  std::vector<data::Batch> batches_;
  int64_t examples_ = 0;
};

}  // namespace adagp::train
