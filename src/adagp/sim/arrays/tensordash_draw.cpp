#include "adagp/sim/arrays/tensordash_draw.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "adagp/base/core/rng.h"
#include "adagp/sim/arrays/tensordash_schedule.h"

namespace adagp::arrays {

double drawn_cycles_per_line(int64_t lines, double density, const accel::TensorDashSizes& sizes) {
  if (density >= 1 || lines == 0) return 1;
  // Longer streams have the same speed-up to a thousandth.
  constexpr int64_t kMostLines = 400, kLeastLines = 8000;
  lines = std::min(lines, kMostLines);
  core::Rng random(core::mix({static_cast<uint64_t>(lines), std::bit_cast<uint64_t>(density),
                              static_cast<uint64_t>(sizes.rows)}));
  const Order order = parse_order(sizes.order);
  const int64_t stride = lines + kLookahead;
  std::vector<uint16_t> streams(static_cast<size_t>(sizes.rows * stride));
  int64_t base = 0, cycles = 0;
  while (base < kLeastLines) {
    for (int64_t row = 0; row < sizes.rows; ++row) {
      for (int64_t t = 0; t < stride; ++t) {
        uint16_t line = 0;
        for (int lane = 0; lane < kLanes && t < lines; ++lane) {
          if (random.uniform() < density) line |= static_cast<uint16_t>(1 << lane);
        }
        streams[static_cast<size_t>(row * stride + t)] = line;
      }
    }
    base += lines;
    cycles += scheduled_cycles(streams, sizes.rows, lines, order);
  }
  return static_cast<double>(cycles) / static_cast<double>(base);
}

}  // namespace adagp::arrays
