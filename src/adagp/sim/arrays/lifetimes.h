#pragma once
// How long activations and gradients of a batch must be kept, and what embedded DRAM pays for it.
//
// Time runs in cycles from the start of the batch. Rows that work in place (activations, additions)
// rewrite the tensor before them. The layer table has no edges: a tensor is read by the next row.
// A row whose input has another shape than what the row before it left, and a trained row after a
// frozen one, reads the last frozen tensor of its shape; several trained rows of one shape read as
// many of them, the last row the last one.
//   BP          an activation lives from its forward pass to the backward pass of the next row
//   reversible  within the forward pass until the next row has run. The backward pass of a block of
//               `block_layers` weight layers first computes its activations again, from its output;
//               an input that is won back so lives until the block before has been computed again.
//               Blocks whose input and output differ in size keep their input
//   GP          an activation lives until the next row has run
//   frozen      what a frozen row writes is freed after its last reader: in the forward pass, or
//               where a trained product reads it with that product's weight gradient. Frozen rows
//               are never computed again
// A gradient lives from the backward pass that makes it to the end of the one that reads it.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/plan.h"

namespace adagp::arrays {

enum class Timeline { kBackprop, kReversible, kPredict };
const char* timeline_name(Timeline kind);

// Cycles of each row of the plan; `backward` is not read for a GP batch.
struct RowTimes {
  std::vector<int64_t> forward, backward;
};

struct StoredTensor {
  std::string name;
  int64_t words = 0;
  int64_t written = 0, last_read = 0;  // cycles
  int64_t reads = 1;

  int64_t lifetime() const { return last_read - written; }
};

struct StoredTensors {
  std::vector<StoredTensor> tensors;
  int64_t cycles = 0;  // of the batch
};
StoredTensors stored_tensors(const accel::Plan& plan, const RowTimes& times, Timeline kind,
                             int64_t block_layers);

// What embedded DRAM pays: refreshes, accesses, leakage.

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
