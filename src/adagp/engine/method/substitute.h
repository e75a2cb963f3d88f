#pragma once
// Methods whose GP batches take gradients from somewhere else than a backward pass.

#include "adagp/engine/method/method.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/predicted_step.h"

namespace adagp::method {

// What adagp, wrong-input, zero and ema share: a BP batch shows its gradients to whoever learns
// from them, a GP batch applies gradients from source(). The head option acts on all of them alike.
class Substitute : public Method {
 public:
  Traits traits() const override { return {.substitutes = true}; }
  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes* probe) override {
    const step::StepResult result = backprop(s, batch, needs_summaries(s));
    std::vector<at::Tensor> gradients;
    for (const auto* layer : s.layers) gradients.push_back(predictor::gradient_of(*layer));
    const at::NoGradGuard no_grad;
    const predictor::Context context = step::context_of(s, result, batch.weights);
    if (probe != nullptr) {
      probe->see(gradients, [&](predictor::GradientSink& sink) { source(s, context, sink); });
    }
    step::learn_and_update(s, [&] {
      learn(s, gradients, context);
      if (s.activations) s.activations->clear();
    });
    return result;
  }

  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    const auto from = [this](step::Session& session, const predictor::Context& context,
                             predictor::GradientSink& sink) { source(session, context, sink); };
    return traits().cheap_needs_data ? step::predicted_step(s, batch, from, early())
                                     : step::blind_step(s, from);
  }

  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    if (!context.cheap()) {
      return Method::cost(s, costs, context, examples);
    }
    return traits().cheap_needs_data ? costs.forward() * static_cast<double>(examples) : 0;
  }

 protected:
  virtual bool needs_summaries(const step::Session&) const { return false; }
  // kAllowed: source() is the predictor's answer to the summaries of the batch.
  virtual step::Early early() const { return step::Early::kNo; }
  virtual void learn(step::Session&, const std::vector<at::Tensor>&, const predictor::Context&) {}
  virtual void source(step::Session& s, const predictor::Context& context,
                      predictor::GradientSink& sink) = 0;
};

}  // namespace adagp::method
