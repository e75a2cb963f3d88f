#pragma once
// The method of the paper: GP batches take the predictor's gradients.

#include <ATen/record_function.h>

#include "adagp/engine/method/substitute.h"

namespace adagp::method {

class AdaGp : public Substitute {
 public:
  void advance(step::Session& s) override {
    s.predictor->follow_plateau(s.plateau);
    s.predictor->advance(s.batch);
  }
  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    return Substitute::cost(s, costs, context, examples) +
           (!context.cheap() ? s.predictor->learning_macs(examples) : s.predictor->macs(examples));
  }

 protected:
  step::Early early() const override { return step::Early::kAllowed; }
  bool needs_summaries(const step::Session&) const override { return true; }
  void learn(step::Session& s, const std::vector<at::Tensor>& gradients,
             const predictor::Context& context) override {
    RECORD_USER_SCOPE("adagp::learn");  // for experiment/kind_timer.h
    // Into its own place, where it stays while other steps reuse the memory of this one.
    s.predictor_loss.copy_(s.predictor->learn(*s.summaries, gradients, context));
  }
  void source(step::Session& s, const predictor::Context& context,
              predictor::GradientSink& sink) override {
    step::predicted_gradients(s, context, sink);
  }
};

}  // namespace adagp::method
