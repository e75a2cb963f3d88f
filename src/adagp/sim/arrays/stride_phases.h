#pragma once
// The parts into which a stride cuts an input gradient.

#include <cstdint>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

// One of the s*s parts into which a stride cuts the input gradient.
struct Phase {
  int64_t h, w;
  std::vector<int64_t> rows, columns;  // kernel positions
  int64_t points_h, points_w;          // input points

  int64_t positions() const { return static_cast<int64_t>(rows.size() * columns.size()); }
  int64_t points() const { return points_h * points_w; }
};
// Those that meet values at all.
std::vector<Phase> phases_of(const layers::Row& row);

}  // namespace adagp::arrays
