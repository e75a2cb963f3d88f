#pragma once
// When a step does not fit into the memory: what it needs, what there is, what would fit.

#include <string>

#include "adagp/engine/step/step_graph.h"

namespace adagp::step {

// Runs `work`, a step of `phase` on `batch`. When the GPU's memory does not suffice, `step` is
// tried on parts of the batch to learn what an example costs, and an Error tells: phase, batch
// size, needed and free memory, the largest batch that would fit. Training cannot go on after that.
// When it is the host's memory, an Error tells phase, batch size, what was asked for and what to
// lower.
StepResult run_in_memory(Session& session, const std::string& phase, const data::Batch& batch,
                         const StepGraph::Step& step, const std::function<StepResult()>& work);

}  // namespace adagp::step
