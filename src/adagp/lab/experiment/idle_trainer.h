#pragma once
// A trainer that is asked what it would do and never runs.

#include <memory>

#include "adagp/engine/train/trainer.h"

namespace adagp::experiment {

// `config` comes back resolved. Says what it opens and makes: large networks take their time.
std::unique_ptr<train::Trainer> idle_trainer(config::RunConfig& config);

}  // namespace adagp::experiment
