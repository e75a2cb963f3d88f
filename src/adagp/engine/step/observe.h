#pragma once
// A BP batch that is only looked at.

#include <functional>

#include "adagp/engine/nn/tap.h"
#include "adagp/engine/step/session.h"

namespace adagp::step {

// Forward and backward with the present weights, without an update, seen by `sink`. It is never
// recorded, and leaves the session as it was: weights, statistics of norms, figures, stored losses,
// random generators. `begin_part` is called before each micro-batch.
void observe_batch(
    Session& session, const data::Batch& batch, nn::TapSink& sink,
    const std::function<void()>& begin_part = [] {});

}  // namespace adagp::step
