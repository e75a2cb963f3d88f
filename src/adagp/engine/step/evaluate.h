#pragma once
// The session's network on test data.

#include "adagp/engine/step/step_graph.h"

namespace adagp::step {

// By the session's task, over `source` from its first batch on. `graph`, when not null, serves the
// batches of equal shape.
task::Evaluation evaluate(Session& session, data::BatchSource& source, StepGraph* graph = nullptr,
                          const task::EvaluationRequest& request = {});

}  // namespace adagp::step
