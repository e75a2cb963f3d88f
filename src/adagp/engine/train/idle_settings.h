#pragma once
// Settings that will have no effect in a run, told before it begins.

#include "adagp/engine/step/session.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/forecast.h"

namespace adagp::train {

void warn_of_idle_settings(const step::Session& session, const EpochPlanner& planner,
                           const Forecast& forecast);

}  // namespace adagp::train
