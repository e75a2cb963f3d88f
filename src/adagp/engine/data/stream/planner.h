#pragma once
// Who decides the epochs of a stream as they begin.

#include <functional>
#include <memory>

#include "adagp/base/plan/epoch_plan.h"

namespace adagp::data {

using plan::EpochPlan;

// Answers the same for an epoch as long as that epoch lasts. It is asked when the epoch begins and
// not before: what it answers may depend on the epoch before.
using Planner = std::function<std::shared_ptr<const EpochPlan>(int64_t epoch)>;

}  // namespace adagp::data
