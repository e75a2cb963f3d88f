// The program without LibTorch has tables at the usual sizes alone.

#include "adagp/base/core/error.h"
#include "simulate_runs.h"

namespace adagp::apps {

layers::SideTable side_table(const layers::Table&, int64_t) {
  throw UsageError(
      "simulate: a plan with smaller images or frozen blocks needs a program with LibTorch ('make "
      "build'), which asks the network for its sizes");
}

}  // namespace adagp::apps
