#pragma once
// The evaluation at the end of an epoch, alone or in a team.

#include <string>

#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/task/task.h"
#include "adagp/engine/train/step_runner.h"

namespace adagp::train {

// By the leader; every bit of it is told to the others: a rate that follows the loss must be the
// same everywhere. `thorough`: as the task does it at the end of a run.
task::Evaluation evaluate_together(step::Session& session, StepRunner& steps,
                                   data::BatchSource& source, bool thorough);

// Puts what the leader told into `found`. Throws DataError when it is no evaluation.
void read_told(const std::string& text, task::Evaluation& found);

}  // namespace adagp::train
