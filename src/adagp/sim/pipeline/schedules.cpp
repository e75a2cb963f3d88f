#include "adagp/sim/pipeline/schedules.h"

#include "adagp/base/core/lookup.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

constexpr int kMostDevices = 4096, kMostMicroBatches = 65536, kMostChunks = 64;
constexpr int64_t kMostOps = int64_t{1} << 21;  // stages x micro-batches: half a gigabyte of lists

void check_range(const char* what, int value, int most) {
  if (value < 1 || value > most) {
    throw UsageError(core::cat("pipeline: ", value, " ", what, "; expected 1 to ", most));
  }
}

}  // namespace

std::string kind_name(Kind kind) {
  static const char* names[] = {"forward",         "backward",       "input-gradient",
                                "weight-gradient", "predict-update", "send",
                                "receive",         "all-reduce",     "optimizer"};
  return names[static_cast<size_t>(kind)];
}

std::string phase_name(Phase phase) {
  static const char* names[] = {"bp", "gp", "low"};
  return names[static_cast<size_t>(phase)];
}

std::string phase_title(Phase phase) {
  static const char* titles[] = {"BP", "GP", "low BP"};
  return titles[static_cast<size_t>(phase)];
}

int Placement::replica_of(int micro) const {
  return replicas == 1 || micro % devices < devices / 2 ? 0 : 1;
}

int Placement::device_of(int stage, int replica) const {
  if (!homes.empty()) return homes[static_cast<size_t>(stage)];
  return replica == 0 ? stage % devices : devices - 1 - stage;
}

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> table = {gpipe(),  dapple(),      chimera(),     zero_bubble(),
                                              zb_v(),   dualpipe_v(),  interleaved(), decoupled(),
                                              filled(), filled_gpipe()};
  return table;
}

const Schedule& find_schedule(const std::string& name) {
  return core::find_named(schedules(), name, "pipeline: no schedule");
}

const Schedule& schedule_of(const Placement& placement) {
  return placement.own ? *placement.own : find_schedule(placement.schedule);
}

std::vector<std::string> trained_schedules() {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules()) {
    if (schedule.trains) names.push_back(schedule.name);
  }
  return names;
}

Placement make_placement(const Request& request) {
  const Schedule& schedule = request.own ? *request.own : find_schedule(request.schedule);
  check_range("stages", request.devices, kMostDevices);
  check_range("micro-batches", request.micro_batches, kMostMicroBatches);
  const int chunks = request.chunks == 0 ? schedule.usual_chunks : request.chunks;
  check_range("chunks", chunks, kMostChunks);
  if (chunks > 1 && !schedule.chunked) {
    throw UsageError(core::cat("pipeline: ", schedule.name, ": ", chunks,
                               " chunks; it has one stage per device (adagp list pipelines)"));
  }
  const int64_t ops = int64_t{request.devices} * chunks * request.micro_batches;
  if (ops > kMostOps) {
    throw UsageError(core::cat("pipeline: ", request.devices * chunks, " stages x ",
                               request.micro_batches, " micro-batches are ", ops,
                               " passes a batch; expected at most ", kMostOps));
  }
  if (schedule.check) schedule.check(request);
  Placement placement;
  placement.schedule = schedule.name;
  placement.devices = request.devices;
  placement.stages = request.devices * chunks;
  placement.replicas = schedule.replicas;
  placement.micro_batches = request.micro_batches;
  placement.own = request.own;
  placement.gp_share = request.gp_share;
  placement.low_share = request.low_share;
  for (int stage = 0; schedule.home && stage < placement.stages; ++stage) {
    placement.homes.push_back(schedule.home(placement, stage));
  }
  return placement;
}

Request request_of(const Placement& placement) {
  Request request;
  request.schedule = placement.schedule;
  request.devices = placement.devices;
  request.micro_batches = placement.micro_batches;
  request.chunks = placement.chunks();
  request.gp_share = placement.gp_share;
  request.low_share = placement.low_share;
  request.own = placement.own;
  return request;
}

// A compute op with the receive it waits for before it and the send others wait for after it.
void add_with_messages(const Placement& placement, const Op& op, OpList& ops) {
  const bool forward = op.kind == Kind::kForward;
  const int step = forward ? 1 : -1;
  const int device = placement.device_of(op.stage, op.replica);
  const auto message = [&](Kind kind, int other) {
    if (op.kind == Kind::kWeightGradient || other < 0 || other >= placement.stages) return;
    Op extra = op;
    extra.kind = kind;
    extra.gradient = !forward;
    extra.peer = placement.device_of(other, op.replica);
    if (extra.peer != device) ops.push_back(extra);
  };
  message(Kind::kReceive, op.stage - step);
  ops.push_back(op);
  message(Kind::kSend, op.stage + step);
}

Op all_reduce(const Placement& placement, int stage, int replica) {
  Op op = compute(Kind::kAllReduce, -1, stage, replica);
  op.peer = placement.device_of(stage, 1 - replica);
  return op;
}

void add_batch_end(const Placement& placement, int device, Phase phase, OpList& ops) {
  // Partners meet in the order of the stages, which is the same for both.
  for (int stage = 0; placement.replicas > 1 && stage < placement.stages; ++stage) {
    for (int replica = 0; replica < placement.replicas; ++replica) {
      if (placement.device_of(stage, replica) == device) {
        ops.push_back(all_reduce(placement, stage, replica));
      }
    }
  }
  ops.push_back(
      compute(phase == Phase::kPredict ? Kind::kPredictUpdate : Kind::kOptimizer, -1, -1));
}

void set_batch(Op& op, int32_t batch, Phase phase) {
  op.batch = batch;
  op.phase = phase;
}

void set_batch(OpList& ops, int32_t batch, Phase phase) {
  for (Op& op : ops) set_batch(op, batch, phase);
}

OpList batch_ops(const Placement& placement, int device, Phase phase) {
  OpList ops;
  for (const Op& op : schedule_of(placement).order(placement, device, phase)) {
    add_with_messages(placement, op, ops);
  }
  add_batch_end(placement, device, phase, ops);
  set_batch(ops, 0, phase);
  return ops;
}

}  // namespace adagp::pipeline
