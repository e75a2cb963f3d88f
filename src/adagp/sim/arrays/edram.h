#pragma once
// What embedded DRAM pays for keeping tensors: refreshes, accesses, leakage.

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/arrays/lifetimes.h"

namespace adagp::arrays {

// max(0, ceil(lifetime / retention) - 1)
int64_t refreshes(double lifetime_us, double retention_us);

struct EdramCost {
  // Lifetimes of what lies in eDRAM.
  double longest_us = 0;
  double mean_us = 0;      // over words
  double fresh_share = 0;  // of these words: they live no longer than the retention time
  int64_t most_refreshes = 0;
  double refreshed_words = 0;
  double peak_bytes = 0;     // alive at one time
  double spilled_bytes = 0;  // tensors that go to DRAM, which needs no refresh
  double refresh_j = 0, access_j = 0, leakage_j = 0, dram_j = 0;

  double total_j() const { return refresh_j + access_j + leakage_j + dram_j; }
};
// `value_bytes`: of one stored value. While more is alive than fits, the tensor alive at the
// fullest moment that lives longest goes to DRAM.
EdramCost edram_cost(const StoredTensors& stored, const accel::Accelerator& accelerator,
                     double value_bytes);

}  // namespace adagp::arrays
