#pragma once
// Exact steps: what bp is, and what every method does with a full batch that has nothing to add.

#include "adagp/engine/method/method.h"
#include "adagp/engine/step/exact_step.h"

namespace adagp::method {

class Backprop : public Method {
 public:
  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    return step::backprop_step(s, batch);
  }
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    step::StepResult result = step::backprop_step(s, batch);
    result.phase = schedule::Phase::kPredict;
    return result;
  }
};

}  // namespace adagp::method
