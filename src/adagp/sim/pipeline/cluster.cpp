#include "adagp/sim/pipeline/cluster.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::pipeline {
namespace {

constexpr int kBatchBits = 28, kMicroBits = 16, kStageBits = 18;  // + 2 bits = 64

size_t at(int index) {
  return static_cast<size_t>(index);
}

}  // namespace

// The sender's stage of activations, the receiver's of gradients.
int boundary_of(const Op& message) {
  const bool after = (message.kind == Kind::kSend) == message.gradient;
  return message.stage - (after ? 1 : 0);
}

double share_of(const Placement& placement, Phase phase) {
  switch (phase) {
    case Phase::kPredict:
      return placement.gp_share;
    case Phase::kLowRes:
      return placement.low_share;
    default:
      return 1;
  }
}

double message_bytes(const Placement& placement, const Costs& costs, const Op& op) {
  const double bytes = costs.stages[at(boundary_of(op))].output_bytes;
  return share_of(placement, op.phase) * bytes;
}

double exchanged_bytes(const StageCost& cost, Phase phase) {
  return phase == Phase::kPredict ? cost.summary_bytes : cost.weight_bytes;
}

uint64_t meeting_key(const Op& op) {
  const bool reduce = op.kind == Kind::kAllReduce;
  auto key = static_cast<uint64_t>(reduce ? op.stage : boundary_of(op));
  key = key << 1 | static_cast<uint64_t>(op.gradient);
  key = key << 1 | static_cast<uint64_t>(reduce ? 0 : op.replica);
  key = key << kMicroBits | static_cast<uint64_t>(reduce ? 0 : op.micro);
  static_assert(kBatchBits + kMicroBits + kStageBits + 2 == 64);
  return key << kBatchBits | static_cast<uint64_t>(op.batch);
}

std::string describe(const Op& op) {
  std::string text = kind_name(op.kind);
  if (op.kind == Kind::kSend || op.kind == Kind::kReceive) {
    text += op.gradient ? " of a gradient" : " of activations";
  }
  text += op.stage < 0 ? ", all stages" : core::cat(", stage ", op.stage);
  if (op.micro >= 0) text += core::cat(", micro-batch ", op.micro);
  text += core::cat(", batch ", op.batch);
  return op.peer < 0 ? text : text + core::cat(" (with device ", op.peer, ")");
}

Cluster::Cluster(const Placement& placement, const Costs& costs)
    : placement_(placement),
      costs_(costs),
      clocks_(at(placement.devices), 0),
      busy_(at(placement.devices), 0),
      exchange_wait_(at(placement.devices), 0),
      passes_{std::vector<int>(at(placement.stages), 0), std::vector<int>(at(placement.stages), 0),
              std::vector<int>(at(placement.stages), 0)},
      stash_(at(placement.devices), 0),
      peak_stash_(at(placement.devices), 0),
      held_(at(placement.devices)) {
  if (costs.stages.size() != at(placement.stages)) {
    throw Error(core::cat("pipeline: costs of ", costs.stages.size(), " stages for a placement of ",
                          placement.stages));
  }
  // Replicas exchange with all copies in their own all-reduce.
  if (costs.copies.count > 1 && placement.replicas == 1)
    exchanged_.assign(at(placement.devices), 0);
  for (int replica = 0; replica < placement.replicas; ++replica) {
    for (int stage = 0; stage < placement.stages; ++stage) {
      held_[at(placement.device_of(stage, replica))].push_back(stage);
    }
  }
}

void Cluster::run(const std::vector<OpList>& lists) {
  std::vector<size_t> position(lists.size(), 0);
  ready_.clear();
  for (int d = placement_.devices - 1; d >= 0; --d) ready_.push_back(d);
  while (!ready_.empty()) {
    const int device = ready_.back();
    ready_.pop_back();
    const OpList& list = lists[at(device)];
    size_t& next = position[at(device)];
    while (next < list.size() && execute(device, list[next])) ++next;
  }
  std::vector<std::string> waiting;
  for (int d = 0; d < placement_.devices; ++d) {
    const size_t next = position[at(d)];
    if (next < lists[at(d)].size()) {
      waiting.push_back(
          core::cat("device ", d, " waits at its op ", next, ", ", describe(lists[at(d)][next])));
    }
  }
  if (!waiting.empty()) throw Error("pipeline: deadlock: " + core::join(waiting, "; "));
}

bool Cluster::execute(int device, const Op& op) {
  switch (op.kind) {
    case Kind::kReceive:
      return receive(device, op);
    case Kind::kAllReduce:
      return all_reduce(device, op);
    case Kind::kSend:
      send(device, op);
      return true;
    default:
      work(device, op);
      return true;
  }
}

double Cluster::transfer(double bytes) const {
  return costs_.bandwidth > 0 ? bytes / costs_.bandwidth : 0;
}

void Cluster::send(int device, const Op& op) {
  double start = clock(device);
  const double time = transfer(message_bytes(placement_, costs_, op));
  if (costs_.bandwidth > 0) {
    double& free = links_[{device, op.peer}];
    start = std::max(start, free);
    free = start + time;
  }
  arrivals_[meeting_key(op)] = {start + time + costs_.latency, device, op.peer};
  influences_.insert({device, op.peer});
  ready_.push_back(op.peer);
  ++messages_;
}

bool Cluster::receive(int device, const Op& op) {
  const auto found = arrivals_.find(meeting_key(op));
  if (found == arrivals_.end()) return false;
  clock(device) = std::max(clock(device), found->second.arrival);
  arrivals_.erase(found);
  return true;
}

// All replicas in all copies add up together, as fast as the slowest link. The two replicas
// of a pipeline alone exchange half of the sum each way and then the other half.
bool Cluster::all_reduce(int device, const Op& op) {
  const uint64_t key = meeting_key(op);
  const auto [found, first] = meetings_.try_emplace(key, Meeting{device, clock(device), false});
  Meeting& meeting = found->second;
  if (first || (meeting.first == device && !meeting.over)) return false;
  if (meeting.over) {
    clock(device) = meeting.time;
    meetings_.erase(found);
    return true;
  }
  const double bytes = exchanged_bytes(costs_.stages[at(op.stage)], op.phase);
  const Copies& copies = costs_.copies;
  const int members = placement_.replicas * copies.count;
  double latency = costs_.latency, bandwidth = costs_.bandwidth;
  if (copies.count > 1) {
    latency = std::max(latency, copies.latency);
    if (bandwidth == 0 || (copies.bandwidth > 0 && copies.bandwidth < bandwidth)) {
      bandwidth = copies.bandwidth;
    }
  }
  const double time = all_reduce_time(copies.all_reduce, members, bytes, latency, bandwidth);
  meeting.time = std::max(meeting.time, clock(device)) + time;
  for (const int member : {device, op.peer}) exchange_wait_[at(member)] += time;
  meeting.over = true;
  clock(device) = meeting.time;
  influences_.insert({{device, op.peer}, {op.peer, device}});
  ready_.push_back(op.peer);
  ++all_reduces_;
  return true;
}

double Cluster::duration(int device, const Op& op) const {
  if (op.stage < 0) {
    Op one = op;
    double sum = 0;
    for (const int stage : held_[at(device)]) {
      one.stage = stage;
      sum += duration(device, one);
    }
    return sum;
  }
  const StageCost& cost = costs_.stages[at(op.stage)];
  const double share = share_of(placement_, op.phase);
  switch (op.kind) {
    case Kind::kForward:
      return share * cost.forward + (op.phase == Phase::kPredict ? cost.summary : 0);
    case Kind::kBackward:
      return share * cost.backward;
    case Kind::kInputGradient:
      return share * cost.input_gradient;
    case Kind::kWeightGradient:
      return share * cost.weight_gradient;
    case Kind::kPredictUpdate:
      return cost.predict_update;
    case Kind::kOptimizer:
      return cost.optimizer + (op.phase == Phase::kBackprop ? cost.predictor_step : 0);
    default:
      return 0;
  }
}

bool adds_to_exchange(const Op& op) {
  return op.kind == Kind::kBackward || op.kind == Kind::kWeightGradient ||
         (op.kind == Kind::kForward && op.phase == Phase::kPredict);
}

// After the last pass of a stage in a batch. The device goes on and waits before its update.
void Cluster::exchange(int device, const Op& op, double start) {
  if (!adds_to_exchange(op)) return;
  int& passes = passes_[at(static_cast<int>(op.phase))][at(op.stage)];
  if (++passes < placement_.micro_batches) return;
  passes = 0;
  const Copies& copies = costs_.copies;
  const double bytes = exchanged_bytes(costs_.stages[at(op.stage)], op.phase);
  double& link = exchanged_[at(device)];
  const double end = clock(device);
  if (op.phase != Phase::kPredict) {
    link = gradients_exchanged(copies, bytes, start, end, link);
  } else {
    link = std::max(link, end) + all_reduce_time(copies.all_reduce, copies.count, bytes,
                                                 copies.latency, copies.bandwidth);
  }
}

void Cluster::await_exchange(int device) {
  const double wait = std::max(0.0, exchanged_[at(device)] - clock(device));
  exchange_wait_[at(device)] += wait;
  clock(device) += wait;
}

void Cluster::work(int device, const Op& op) {
  const bool copies = !exchanged_.empty();
  if (copies && (op.kind == Kind::kOptimizer || op.kind == Kind::kPredictUpdate)) {
    await_exchange(device);
  }
  const double time = duration(device, op), start = clock(device);
  clock(device) += time;
  busy_[at(device)] += time;
  if (copies) exchange(device, op, start);
  int& stash = stash_[at(device)];
  if (op.kind == Kind::kForward && op.phase != Phase::kPredict) {
    peak_stash_[at(device)] = std::max(peak_stash_[at(device)], ++stash);
  } else if (op.kind == Kind::kBackward || op.kind == Kind::kWeightGradient) {
    --stash;
  }
  if (on_event) on_event({device, op, start, start + time});
}

double Cluster::now() const {
  return *std::max_element(clocks_.begin(), clocks_.end());
}

Snapshot Cluster::snapshot(int32_t batch) const {
  Snapshot out{{}, busy_, exchange_wait_, all_reduces_, messages_};
  for (int d = 0; d < placement_.devices; ++d) out.variables.push_back({clocks_[at(d)], d, d});
  for (int d = 0; at(d) < exchanged_.size(); ++d) {
    out.variables.push_back({exchanged_[at(d)], d, d});
  }
  for (const auto& [ends, free] : links_) out.variables.push_back({free, ends.first, ends.second});
  std::map<uint64_t, Message> sorted;
  for (const auto& [key, message] : arrivals_) {
    sorted.emplace(key - static_cast<uint64_t>(batch), message);
  }
  for (const auto& [key, message] : sorted) {
    out.variables.push_back({message.arrival, message.from, message.to});
  }
  return out;
}

void Cluster::skip(int64_t times, const Snapshot& before, const Snapshot& after, int32_t batches) {
  const auto many = static_cast<double>(times);
  size_t next = 0;
  const auto shift = [&](double& time, size_t variable) {
    time += many * (after.variables[variable].time - before.variables[variable].time);
  };
  for (double& time : clocks_) shift(time, next++);
  for (double& time : exchanged_) shift(time, next++);
  for (auto& [ends, free] : links_) shift(free, next++);
  std::map<uint64_t, Message> sorted(arrivals_.begin(), arrivals_.end());
  arrivals_.clear();
  for (auto& [key, message] : sorted) {
    shift(message.arrival, next++);
    arrivals_.emplace(key + static_cast<uint64_t>(times * batches), message);
  }
  for (size_t d = 0; d < busy_.size(); ++d) {
    busy_[d] += many * (after.busy[d] - before.busy[d]);
    exchange_wait_[d] += many * (after.exchange_wait[d] - before.exchange_wait[d]);
  }
  all_reduces_ += times * (after.all_reduces - before.all_reduces);
  messages_ += times * (after.messages - before.messages);
}

}  // namespace adagp::pipeline
