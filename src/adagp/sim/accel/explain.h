#pragma once
// Formulas with the numbers in them, as text for people.

#include <string>

#include "adagp/sim/accel/cost.h"

namespace adagp::accel {

// Every pass of a layer: sizes, cycles, words, memory order and stalls, predictor, designs'
// formulas. Throws UsageError with the nearest name when there is no such layer.
std::string explain(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                    const std::string& layer);

}  // namespace adagp::accel
