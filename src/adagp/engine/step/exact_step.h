#pragma once
// Phase BP: forward, backward, update.

#include <functional>

#include "adagp/engine/step/session.h"

namespace adagp::step {

// Forward and backward; gradients are left in the parameters. With `tapped`, the session's
// summaries see the pass.
StepResult backprop(Session& session, const data::Batch& batch, bool tapped = false);

// The network's forward pass; blocks before the session's first_block have no graph.
models::Tensors run_net(Session& session, const models::Tensors& inputs);

// After the backward pass of one of several micro-batches: their gradients are added up in fp32,
// as bf16 would lose the small ones.
void gather_bf16_gradients(Session& session);

// Clips if asked, lets the optimizer act on the gradients, and clears them.
void update(Session& session);
// The same after `learn`, which shows the gradients to the predictor. On a GPU the weights move
// beside the predictor's training, where its kind allows.
void learn_and_update(Session& session, const std::function<void()>& learn);

// The plain step.
StepResult backprop_step(Session& session, const data::Batch& batch);

}  // namespace adagp::step
