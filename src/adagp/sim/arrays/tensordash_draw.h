#pragma once
// TensorDash on streams whose zeros are drawn independently: what is known without a trace.

#include <cstdint>

#include "adagp/sim/accel/accelerator.h"

namespace adagp::arrays {

// Scheduled cycles per line of about 8,000 lines of streams of this length (at most 400), fixed by
// the arguments. Real zeros cluster by channel; independent ones are easier to schedule.
double drawn_cycles_per_line(int64_t lines, double density, const accel::TensorDashSizes& sizes);

}  // namespace adagp::arrays
