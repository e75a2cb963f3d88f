#pragma once
// Devices that execute op lists in time: each goes on with its list as far as it can. Sends never
// block, receives and all-reduces do.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adagp/sim/pipeline/copies.h"
#include "adagp/sim/pipeline/op.h"

namespace adagp::pipeline {

// Times of one stage for one micro-batch; from predict_update on for a batch. Any unit, the same
// for all.
struct StageCost {
  double forward = 1;
  double backward = 2;
  double input_gradient = 1, weight_gradient = 1;  // the halves, for schedules that split
  double summary = 0;                              // added to a forward pass of a GP batch
  double predict_update = 0;
  double optimizer = 0;
  double predictor_step = 0;  // with the optimizer, of a BP batch that trains the predictor
  // Bytes to the next stage for a micro-batch (as many come back as gradients), of the weights'
  // gradients and of a GP batch's summaries.
  double output_bytes = 0, weight_bytes = 0, summary_bytes = 0;
};

struct Costs {
  std::vector<StageCost> stages;  // of the network, in order
  double latency = 0;             // of a message
  double bandwidth = 0;           // bytes per time, of each direction of a pair; 0: no limit
  Copies copies{};                // of the pipeline; the cluster is one of them
};

// The stage before the boundary that a message crosses.
int boundary_of(const Op& message);
// What a pass of such a batch takes of one in a BP batch: time and bytes.
double share_of(const Placement& placement, Phase phase);
// The bytes of a message, or of what all copies and replicas of a stage add up.
double message_bytes(const Placement& placement, const Costs& costs, const Op& op);
double exchanged_bytes(const StageCost& cost, Phase phase);
// Does this pass add to what copies exchange after its batch: gradients or summaries?
bool adds_to_exchange(const Op& op);

// One message or all-reduce among all; both ends have the same. Of a message the boundary counts:
// boundary b lies between stages b and b + 1.
uint64_t meeting_key(const Op& op);

std::string describe(const Op& op);  // "receive of stage 2, micro-batch 1, batch 0 (device 1)"

struct Event {
  int device = 0;
  Op op;
  double start = 0, end = 0;
};

// A time from which later ones follow: a device's clock, a link's or a message's.
struct Variable {
  double time = 0;
  int from = 0, to = 0;  // it follows from this device's clock, and this one's from it
};

// All of a cluster that matters for what comes next, and its counters.
struct Snapshot {
  std::vector<Variable> variables;  // of equal clusters in equal order
  std::vector<double> busy, exchange_wait;
  int64_t all_reduces = 0, messages = 0;
};

class Cluster {
 public:
  Cluster(const Placement& placement, const Costs& costs);

  std::function<void(const Event&)> on_event;  // compute ops and updates; may be empty

  // Runs the lists after what ran before. Throws Error naming the ops that wait when nothing can go
  // on. Messages may stay under way for a later call.
  void run(const std::vector<OpList>& lists);

  double now() const;  // when the last device is done
  const std::vector<double>& busy() const { return busy_; }
  // Time in which a device only waited for an exchange with copies or replicas, per device.
  const std::vector<double>& exchange_wait() const { return exchange_wait_; }
  const std::vector<int>& peak_stash() const { return peak_stash_; }
  int64_t all_reduces() const { return all_reduces_; }
  int64_t messages() const { return messages_; }
  // Pairs of devices of which the second waited for something of the first.
  const std::set<std::pair<int, int>>& influences() const { return influences_; }
  double duration(int device, const Op& op) const;  // of a compute op or an update

  Snapshot snapshot(int32_t batch) const;  // with batches counted from `batch`
  // As if `times` more periods had passed, each like that from `before` to `after` (= now), of
  // `batches` batches.
  void skip(int64_t times, const Snapshot& before, const Snapshot& after, int32_t batches);

 private:
  struct Message {
    double arrival = 0;
    int from = 0, to = 0;
  };
  struct Meeting {  // of an all-reduce
    int first = 0;  // device that came first
    double time = 0;
    bool over = false;
  };
  bool execute(int device, const Op& op);  // false: it must wait
  bool receive(int device, const Op& op);
  bool all_reduce(int device, const Op& op);
  void send(int device, const Op& op);
  void work(int device, const Op& op);
  void exchange(int device, const Op& op, double start);  // with the other copies
  void await_exchange(int device);
  double transfer(double bytes) const;
  double& clock(int device) { return clocks_[static_cast<size_t>(device)]; }

  Placement placement_;
  Costs costs_;
  std::vector<double> clocks_, busy_;
  // When a device's link to the other copies is free again (empty: no exchange of its own), and for
  // how long the device waited for it.
  std::vector<double> exchanged_, exchange_wait_;
  // Of this batch that make what a stage exchanges, per phase and stage.
  std::vector<int> passes_[3];
  std::vector<int> stash_, peak_stash_;
  std::vector<std::vector<int>> held_;              // stages, per device
  std::map<std::pair<int, int>, double> links_;     // free again; with limited bandwidth alone
  std::unordered_map<uint64_t, Message> arrivals_;  // sent and not yet received
  std::unordered_map<uint64_t, Meeting> meetings_;
  std::vector<int> ready_;  // devices to go on with
  std::set<std::pair<int, int>> influences_;
  int64_t all_reduces_ = 0, messages_ = 0;
};

}  // namespace adagp::pipeline
