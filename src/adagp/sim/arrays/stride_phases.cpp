#include "adagp/sim/arrays/stride_phases.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::arrays {
namespace {

// Kernel positions of one axis that meet a value at an input point of this phase.
std::vector<int64_t> met_positions(const layers::Axis& axis, int64_t phase) {
  std::vector<int64_t> out;
  for (int64_t r = 0; r < axis.kernel; ++r) {
    const int64_t at = phase + axis.padding - r * axis.dilation;
    if (((at % axis.stride) + axis.stride) % axis.stride == 0) out.push_back(r);
  }
  return out;
}

}  // namespace

std::vector<Phase> phases_of(const layers::Row& row) {
  const auto axes = layers::axes_of(row);
  const layers::Axis &h = axes[1], &w = axes[2];
  std::vector<Phase> out;
  for (int64_t y = 0; y < std::min(h.stride, h.input); ++y) {
    for (int64_t x = 0; x < std::min(w.stride, w.input); ++x) {
      Phase phase{y,
                  x,
                  met_positions(h, y),
                  met_positions(w, x),
                  accel::ceil_div(h.input - y, h.stride),
                  accel::ceil_div(w.input - x, w.stride)};
      if (phase.positions() > 0) out.push_back(std::move(phase));
    }
  }
  return out;
}

}  // namespace adagp::arrays
