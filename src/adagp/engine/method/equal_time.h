#pragma once
// The control that spends adagp's seconds on plain backprop.

#include <cstdint>

namespace adagp::method {

// Backprop batches that fit into `seconds`, at least 1 and at most `most`.
int64_t budget_batches(double seconds, double seconds_per_batch, int64_t most);

}  // namespace adagp::method
