#pragma once
// Phase BP: forward, backward, update.

#include "adagp/step/session.h"

namespace adagp::step {

// Forward and backward; gradients are left in the parameters. With `tapped`, the session's
// summaries see the pass.
StepResult backprop(Session& session, const data::Batch& batch, bool tapped = false);

// After the backward pass of one of several micro-batches: their gradients are added up in fp32,
// as bf16 would lose the small ones.
void gather_bf16_gradients(Session& session);

// Clips if asked, lets the optimizer act on the gradients, and clears them.
void update(Session& session);

// The plain step.
StepResult backprop_step(Session& session, const data::Batch& batch);

}  // namespace adagp::step
