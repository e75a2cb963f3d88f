#pragma once
// Layer tables at other image sides, for plans of training runs: from the network itself.

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// Of the network of `full` (all operations) for images of this side; 0: the same. Throws UsageError
// where adagp does not build that network.
SideTable side_table(const Table& full, int64_t side);

}  // namespace adagp::layers
