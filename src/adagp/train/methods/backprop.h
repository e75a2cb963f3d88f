#pragma once
// Exact steps: what bp is, and what every method does with a full batch that has nothing to add.

#include "adagp/train/bp_step.h"
#include "adagp/train/methods.h"

namespace adagp::train {

class Backprop : public Method {
 public:
  StepResult exact_step(Session& s, const data::Batch& batch, Probes*) override {
    return bp_step(s, batch);
  }
  StepResult cheap_step(Session& s, const data::Batch& batch) override {
    StepResult result = bp_step(s, batch);
    result.phase = schedule::Phase::kPredict;
    return result;
  }
};

}  // namespace adagp::train
