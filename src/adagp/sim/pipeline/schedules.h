#pragma once
// One generator per schedule, in a table.

#include <functional>

#include "adagp/sim/pipeline/op.h"

namespace adagp::pipeline {

struct Request {
  std::string schedule = "gpipe";
  int devices = 4;
  int micro_batches = 4;
  int chunks = 0;  // stages per device; 0: Schedule::usual_chunks
  std::vector<Phase> phases{Phase::kBackprop};
  // A device may start the next batch while forward passes of a GP batch are still to come to it.
  // Only schedules with `place` or `pair` do, whose devices wait for each other otherwise.
  bool overlap = true;
  double gp_share = 1, low_share = 0.25;     // see Placement
  std::shared_ptr<const Schedule> own = {};  // instead of a name
};

struct Schedule {
  std::string name;
  std::string about;
  int replicas = 1;      // of the network
  bool chunked = false;  // takes Request::chunks above 1
  int usual_chunks = 1;
  bool trains = true;  // real processes can run it (parallel/executor.h)
  // The order of a device's compute ops in one batch; everything else (sends, receives, all-reduce,
  // optimizer, predict-update) is the same for all and added by make_op_lists().
  std::function<OpList(const Placement&, int device, Phase phase)> order;
  // The most micro-batches of which a device keeps activations at once, in a BP batch. With `pair`
  // those of a low-resolution batch come on top.
  std::function<int(const Placement&, int device)> stash_bound;
  // Throws UsageError for a placement this schedule cannot do; may be empty.
  std::function<void(const Request&)> check;
  // When a batch may reach into the one before it: the place of a compute op (the `index`-th of its
  // order), by which ops of neighbouring batches are merged; a GP batch is micro_batches x chunks
  // long. Empty: batch by batch.
  std::function<int64_t(const Placement&, const Op&, Phase phase, size_t index)> place;
  // The compute ops of a GP or low-resolution batch (`cheap`) and of the BP batch after it, per
  // device, where they run together from the same weights. Empty: they do not.
  std::function<std::vector<OpList>(const Placement&, Phase cheap)> pair;
  // The device of a stage; empty: they go round the devices.
  std::function<int(const Placement&, int stage)> home;
};
const std::vector<Schedule>& schedules();
// Throws UsageError with the nearest name.
const Schedule& find_schedule(const std::string& name);
const Schedule& schedule_of(const Placement& placement);
// Names of those that real processes can run.
std::vector<std::string> trained_schedules();

struct OpLists {
  Placement placement;
  std::vector<Phase> phases;
  std::vector<OpList> devices;
};

// Throws UsageError with the numbers for what a schedule cannot do: an odd number of stages or
// micro-batches that are no multiple of the stages for Chimera, and the like.
Placement make_placement(const Request& request);
Request request_of(const Placement& placement);  // that makes this placement
OpLists make_op_lists(const Request& request);
// The ops of one device in one batch (Op::batch = 0), as an executor runs them one after another;
// make_op_lists() without overlap is these in sequence.
OpList batch_ops(const Placement& placement, int device, Phase phase);

}  // namespace adagp::pipeline
