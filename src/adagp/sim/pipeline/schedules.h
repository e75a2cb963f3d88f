#pragma once
// One generator per schedule, in a table.

#include <functional>

#include "adagp/sim/pipeline/op.h"

namespace adagp::pipeline {

struct Request {
  std::string schedule = "gpipe";
  int devices = 4;
  int micro_batches = 4;
  int chunks = 1;  // stages per device, of `interleaved`
  std::vector<Phase> phases{Phase::kBackprop};
  // A device may start the next batch while forward passes of a GP batch are still to come to it.
  // Only Chimera does, whose devices wait for the other direction otherwise.
  bool overlap = true;
};

struct Schedule {
  std::string name;
  std::string about;
  int replicas = 1;      // of the network
  bool chunked = false;  // takes Request::chunks above 1
  // The order of a device's compute ops in one batch; everything else (sends, receives, all-reduce,
  // optimizer, predict-update) is the same for all and added by make_op_lists().
  std::function<OpList(const Placement&, int device, Phase phase)> order;
  // The most micro-batches of which a device keeps activations at once, in a BP batch.
  std::function<int(const Placement&, int device)> stash_bound;
  // Throws UsageError for a placement this schedule cannot do; may be empty.
  std::function<void(const Request&)> check;
  // When a batch may reach into the one before it: the place of a compute op, by which ops of
  // neighbouring batches are merged; a GP batch is micro_batches long. Empty: batch by batch.
  std::function<int64_t(const Placement&, const Op&, Phase phase)> place;
};
const std::vector<Schedule>& schedules();
// Throws UsageError with the nearest name.
const Schedule& find_schedule(const std::string& name);

struct OpLists {
  Placement placement;
  std::vector<Phase> phases;
  std::vector<OpList> devices;
};

// Throws UsageError with the numbers for what a schedule cannot do: an odd number of stages or
// micro-batches that are no multiple of the stages for Chimera, and the like.
Placement make_placement(const Request& request);
OpLists make_op_lists(const Request& request);
// The ops of one device in one batch (Op::batch = 0), as an executor runs them one after another;
// make_op_lists() without overlap is these in sequence.
OpList batch_ops(const Placement& placement, int device, Phase phase);

}  // namespace adagp::pipeline
