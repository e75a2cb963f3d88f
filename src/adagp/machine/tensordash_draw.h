#pragma once
// TensorDash on streams whose zeros are drawn independently: what is known without a trace.

#include "adagp/machine/tensordash_streams.h"

namespace adagp::machine {

// About 8,000 lines of streams of this length (at most 400), fixed by the arguments. Real zeros
// cluster by channel; independent ones are easier to schedule.
SampledCycles drawn_cycles(int64_t lines, double density, const accel::TensorDashSizes& sizes);

}  // namespace adagp::machine
