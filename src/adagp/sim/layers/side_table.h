#pragma once
// A network's layer table at another image side. No torch here.

#include <cstdint>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

struct SideTable {
  Table table;
  std::vector<int64_t> rows_before;  // rows before each block, in order
};

}  // namespace adagp::layers
