// The program with LibTorch asks the network for its table at another side.

#include "adagp/engine/layers/side_table.h"

#include "simulate_runs.h"

namespace adagp::apps {

layers::SideTable side_table(const layers::Table& full, int64_t side) {
  return layers::side_table(full, side);
}

}  // namespace adagp::apps
