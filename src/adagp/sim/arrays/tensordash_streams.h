#pragma once
// Cycles of a layer's streams (tensordash_classes.h) on TensorDash, from the bits of a trace. Zeros
// of padding are zeros.

#include <cstdint>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/accel/work.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

struct SampledCycles {
  int64_t base = 0, cycles = 0;  // of the sampled groups, without the factor of the other side
};

// Of all streams of the trace, one entry for each class of stream_classes().
std::vector<SampledCycles> sampled_cycles(const layers::Row& row, accel::Pass pass,
                                          const accel::ZeroBits& bits, bool left_sparse,
                                          const accel::TensorDashSizes& sizes);

}  // namespace adagp::arrays
