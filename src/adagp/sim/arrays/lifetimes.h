#pragma once
// How long activations and gradients of a batch must be kept. edram.h has what this costs.
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

}  // namespace adagp::arrays
