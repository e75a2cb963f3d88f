#pragma once
// Phase GP: no graph, no backward pass; tapped weights move by gradients from elsewhere.

#include <functional>

#include "adagp/engine/step/early_updates.h"

namespace adagp::step {

// Gives gradients to a sink: the predictor, a running mean, zeros.
using GradientSource =
    std::function<void(Session&, const predictor::Context&, predictor::GradientSink&)>;

// What a predictor may know of the batch that was run last. `weights`: what each
// example counts; undefined: 1 each.
predictor::Context context_of(Session& session, const StepResult& result,
                              const at::Tensor& weights);

// The forward pass of a GP batch, without a graph, seen by the session's sinks.
StepResult predicted_forward(Session& session, const data::Batch& batch);

// The predictor's answer to the summaries of this batch.
void predicted_gradients(Session& session, const predictor::Context& context,
                         predictor::GradientSink& sink);

// One forward pass under NoGradGuard, then every tapped layer's weight takes an optimizer step with
// the gradient from `source`, layer by layer; the head as `head` says (with `exact` its bias,
// too). Biases move where the source has gradients for them; other biases, norm weights and
// embeddings are frozen. With `early`, `source` must be predicted_gradients() on the batch's own
// summaries.
StepResult predicted_step(Session& session, const data::Batch& batch, const GradientSource& source,
                          Early early = Early::kNo);

// The same without looking at a batch. Only for head = predicted | frozen.
StepResult blind_step(Session& session, const GradientSource& source);

}  // namespace adagp::step
