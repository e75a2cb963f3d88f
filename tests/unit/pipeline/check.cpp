#include "unit/pipeline/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/cluster.h"

namespace adagp::pipeline {
namespace {

constexpr size_t kMostProblems = 20;

using Done = std::tuple<Kind, int32_t, int32_t, int32_t>;  // batch, stage, micro

Done done_key(Kind kind, const Op& op) {
  return {kind, op.batch, op.stage, op.micro};
}

bool is_message(const Op& op) {
  return op.kind == Kind::kSend || op.kind == Kind::kReceive;
}

bool is_compute(const Op& op) {
  return op.kind <= Kind::kWeightGradient;
}

class Checker {
 public:
  explicit Checker(const OpLists& op_lists) : op_lists_(op_lists), placement_(op_lists.placement) {}

  std::vector<std::string> run() {
    if (op_lists_.devices.size() != static_cast<size_t>(placement_.devices)) {
      return {core::cat(op_lists_.devices.size(), " lists for ", placement_.devices, " devices")};
    }
    for (device_ = 0; device_ < placement_.devices; ++device_) check_device();
    check_messages();
    if (!malformed_) check_deadlock();
    return std::move(problems_);
  }

 private:
  void fail(const std::string& text) {
    if (problems_.size() < kMostProblems) problems_.push_back(text);
  }
  void fail(const Op& op, const std::string& text) {
    fail(core::cat("device ", device_, ", op ", position_, " (", describe(op), "): ", text));
  }

  // Numbers in range, and on the device that holds the stage.
  bool well_formed(const Op& op) {
    std::string text;
    const bool whole = op.kind == Kind::kPredictUpdate || op.kind == Kind::kOptimizer;
    if (op.batch < 0 || static_cast<size_t>(op.batch) >= op_lists_.phases.size()) {
      text = core::cat("there are ", op_lists_.phases.size(), " batches");
    } else if (op.phase != op_lists_.phases[static_cast<size_t>(op.batch)]) {
      text = "its batch is of the other phase";
    } else if (op.replica < 0 || op.replica >= placement_.replicas) {
      text = core::cat("replica ", op.replica, " of ", placement_.replicas);
    } else if (op.stage >= placement_.stages || op.stage < (whole ? -1 : 0)) {
      text = core::cat("there are ", placement_.stages, " stages");
    } else if (op.stage >= 0 && placement_.device_of(op.stage, op.replica) != device_) {
      text = core::cat("the stage is on device ", placement_.device_of(op.stage, op.replica));
    } else if ((is_compute(op) || is_message(op)) &&
               (op.micro < 0 || op.micro >= placement_.micro_batches ||
                placement_.replica_of(op.micro) != op.replica)) {
      text = core::cat("no such micro-batch in replica ", op.replica);
    }
    if (text.empty()) return true;
    malformed_ = true;
    fail(op, text);
    return false;
  }

  bool has(Kind kind, const Op& op) const { return done_.contains(done_key(kind, op)); }
  bool backward_done(const Op& op) const {
    return has(Kind::kBackward, op) || has(Kind::kWeightGradient, op);
  }

  // The neighbour's tensor has come: received, or made on this device.
  bool arrived(const Op& op, bool gradient) const {
    Op other = op;
    other.stage += gradient ? 1 : -1;
    if (other.stage < 0 || other.stage >= placement_.stages) return true;
    if (placement_.device_of(other.stage, op.replica) != device_) {
      return received_.contains({gradient, op.batch, op.stage, op.micro});
    }
    return gradient ? has(Kind::kBackward, other) || has(Kind::kInputGradient, other)
                    : has(Kind::kForward, other);
  }

  // Every micro-batch of a stage in a batch is through; of all the device's stages when stage < 0.
  bool stage_done(const Op& op) const {
    for (int replica = 0; replica < placement_.replicas; ++replica) {
      for (int stage = 0; stage < placement_.stages; ++stage) {
        if (placement_.device_of(stage, replica) != device_) continue;
        if (op.stage >= 0 && (stage != op.stage || replica != op.replica)) continue;
        for (int m = 0; m < placement_.micro_batches; ++m) {
          if (placement_.replica_of(m) != replica) continue;
          Op one = op;
          one.stage = stage;
          one.micro = m;
          if (op.phase == Phase::kPredict ? !has(Kind::kForward, one) : !backward_done(one)) {
            return false;
          }
        }
        const bool update = op.kind != Kind::kAllReduce;
        if (update && placement_.replicas > 1 && !reduced_.contains({op.batch, stage}))
          return false;
      }
    }
    return true;
  }

  // The batch whose update a pass must see; -1: none. A pair of batches has the same weights: the
  // second batch does not see the first one's update, which comes before its own.
  int32_t last_update_before(int32_t batch) const {
    const auto phase_of = [&](int32_t b) { return op_lists_.phases[static_cast<size_t>(b)]; };
    const bool pair = schedule_of(placement_).pair && batch > 0 &&
                      phase_of(batch) == Phase::kBackprop &&
                      phase_of(batch - 1) != Phase::kBackprop;
    return batch - (pair ? 2 : 1);
  }
  bool updated(int32_t batch, int32_t stage) const {
    if (batch < 0) return true;
    return updated_.contains({batch, stage}) || updated_.contains({batch, -1});
  }

  // This stage, or all of the device's (stage < 0).
  bool all_updated(int32_t batch, int32_t stage) const {
    for (int replica = 0; replica < placement_.replicas; ++replica) {
      for (int each = 0; each < placement_.stages; ++each) {
        if (placement_.device_of(each, replica) != device_ || (stage >= 0 && each != stage))
          continue;
        if (!updated(batch, each)) return false;
      }
    }
    return true;
  }

  void check_needs(const Op& op) {
    switch (op.kind) {
      case Kind::kForward:
        if (!arrived(op, false)) fail(op, "its input has not come yet");
        if (!updated(last_update_before(op.batch), op.stage)) {
          fail(op, "the batch before has not updated the stage yet");
        }
        return;
      case Kind::kBackward:
      case Kind::kInputGradient:
        if (op.phase == Phase::kPredict) fail(op, "a GP batch has no backward pass");
        if (!has(Kind::kForward, op)) fail(op, "its forward pass is not done yet");
        if (!arrived(op, true)) fail(op, "its gradient has not come yet");
        return;
      case Kind::kWeightGradient:
        if (!has(Kind::kInputGradient, op)) fail(op, "its input gradient is not done yet");
        return;
      case Kind::kSend: {
        const bool made = op.gradient ? has(Kind::kBackward, op) || has(Kind::kInputGradient, op)
                                      : has(Kind::kForward, op);
        if (!made) fail(op, "what it sends is not made yet");
        return;
      }
      case Kind::kReceive:
        return;
      case Kind::kAllReduce:
      case Kind::kPredictUpdate:
      case Kind::kOptimizer:
        if (op.kind != Kind::kAllReduce && !all_updated(op.batch - 1, op.stage)) {
          fail(op, "the batch before has not updated the stage yet");
        }
        if (!stage_done(op)) fail(op, "something of the batch is still to come");
        if ((op.kind == Kind::kOptimizer) == (op.phase == Phase::kPredict) &&
            op.kind != Kind::kAllReduce) {
          fail(op, "not in this phase");
        }
        return;
    }
  }

  void record(const Op& op) {
    bool fresh = true;
    if (is_compute(op)) {
      fresh = done_.insert(done_key(op.kind, op)).second;
      const bool whole = op.kind == Kind::kBackward;
      if (whole && has(Kind::kInputGradient, op)) fresh = false;
      if (op.kind == Kind::kInputGradient && has(Kind::kBackward, op)) fresh = false;
    } else if (op.kind == Kind::kReceive) {
      fresh = received_.insert({op.gradient, op.batch, op.stage, op.micro}).second;
    } else if (op.kind == Kind::kAllReduce) {
      fresh = reduced_.insert({op.batch, op.stage}).second;
    } else if (op.kind != Kind::kSend) {
      fresh = updated_.insert({op.batch, op.stage}).second;
    }
    if (!fresh) fail(op, "done before");
    if (!is_message(op)) return;
    const int step = (op.kind == Kind::kSend) == op.gradient ? -1 : 1;
    const int other = op.stage + step;
    if (other < 0 || other >= placement_.stages ||
        placement_.device_of(other, op.replica) != op.peer) {
      fail(op, "its neighbour is not there");
      malformed_ = malformed_ || other < 0 || other >= placement_.stages || op.peer < 0 ||
                   op.peer >= placement_.devices;
    }
    auto& [sends, receives] = messages_[meeting_key(op)];
    ++(op.kind == Kind::kSend ? sends : receives);
  }

  void check_device() {
    done_.clear();
    received_.clear();
    reduced_.clear();
    updated_.clear();
    std::map<Phase, int> stash, peak;
    const OpList& list = op_lists_.devices[static_cast<size_t>(device_)];
    for (position_ = 0; position_ < list.size(); ++position_) {
      const Op& op = list[position_];
      if (!well_formed(op)) continue;
      check_needs(op);
      record(op);
      if (op.kind == Kind::kForward) {
        peak[op.phase] = std::max(peak[op.phase], ++stash[op.phase]);
      }
      if (op.kind == Kind::kBackward || op.kind == Kind::kWeightGradient) --stash[op.phase];
    }
    check_stash(peak[Phase::kBackprop], schedule_of(placement_).stash_bound(placement_, device_));
    check_stash(peak[Phase::kLowRes],
                schedule_of(placement_).pair
                    ? placement_.micro_batches
                    : schedule_of(placement_).stash_bound(placement_, device_));
    check_complete();
  }

  void check_stash(int peak, int bound) {
    if (peak <= bound) return;
    fail(core::cat("device ", device_, ": activations of ", peak, " micro-batches at once; ",
                   placement_.schedule, " keeps at most ", bound));
  }

  void check_complete() {
    for (size_t batch = 0; batch < op_lists_.phases.size(); ++batch) {
      Op end;
      end.kind =
          op_lists_.phases[batch] == Phase::kPredict ? Kind::kPredictUpdate : Kind::kOptimizer;
      end.phase = op_lists_.phases[batch];
      end.batch = static_cast<int32_t>(batch);
      end.stage = -1;
      if (!stage_done(end)) {
        fail(core::cat("device ", device_, ": batch ", batch, " is not complete"));
      }
      for (int replica = 0; replica < placement_.replicas; ++replica) {
        for (int stage = 0; stage < placement_.stages; ++stage) {
          if (placement_.device_of(stage, replica) == device_ && !updated(end.batch, stage)) {
            fail(core::cat("device ", device_, ": batch ", batch, " never updates stage ", stage));
          }
        }
      }
    }
  }

  void check_messages() {
    for (device_ = 0; device_ < placement_.devices; ++device_) {
      const OpList& list = op_lists_.devices[static_cast<size_t>(device_)];
      for (position_ = 0; position_ < list.size(); ++position_) {
        const Op& op = list[position_];
        if (!is_message(op)) continue;
        const auto found = messages_.find(meeting_key(op));
        if (found == messages_.end()) continue;
        const auto [sends, receives] = found->second;
        if (sends == 1 && receives == 1) continue;
        fail(op, core::cat(sends, " sends and ", receives, " receives of it, expected one each"));
      }
    }
  }

  void check_deadlock() {
    try {
      Costs costs;
      costs.stages.resize(static_cast<size_t>(placement_.stages));
      Cluster(placement_, costs).run(op_lists_.devices);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  const OpLists& op_lists_;
  const Placement& placement_;
  int device_ = 0;
  size_t position_ = 0;
  bool malformed_ = false;
  std::set<Done> done_;
  std::set<std::tuple<bool, int32_t, int32_t, int32_t>> received_;
  std::set<std::pair<int32_t, int32_t>> reduced_, updated_;  // batch, stage
  std::map<uint64_t, std::pair<int, int>> messages_;         // sends and receives
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems(const OpLists& op_lists) {
  return Checker(op_lists).run();
}

void check(const OpLists& op_lists) {
  const auto found = problems(op_lists);
  if (found.empty()) return;
  throw Error(core::cat("pipeline: ", op_lists.placement.schedule,
                        ": the lists cannot be executed: ", core::join(found, "; ")));
}

}  // namespace adagp::pipeline
