// DualPipeV (DeepSeek; "cut in half" of DualPipe): stages in a V; forward and backward passes of
// different micro-batches stand beside each other, so that one can hide the messages of the other.
// Here the two passes of such a pair follow each other.

#include <deque>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

class DualPipeVOrder {
 public:
  DualPipeVOrder(const Placement& placement, int device)
      : device_(device),
        after_(placement.devices - 1 - device),
        stages_{device, placement.stages - 1 - device} {
    for (int i = 0; i < 2 * after_; ++i) forward(0);
    for (int i = 0; i <= device; ++i) {
      forward(0);
      forward(1);
    }
    for (int i = 0; i < after_; ++i) {
      split(1);
      weight();
      forward(1);
    }
    for (int i = 0; i < placement.micro_batches - placement.stages + device + 1; ++i) {
      forward(0);
      backward(1);
      forward(1);
      backward(0);
    }
    for (int i = 0; i < after_; ++i) {
      backward(1);
      forward(1);
      backward(0);
    }
    cool_down();
  }
  OpList take() { return std::move(ops_); }

 private:
  void add(Kind kind, int chunk, int& next) {
    ops_.push_back(compute(kind, next++, stages_[chunk]));
  }
  void forward(int chunk) { add(Kind::kForward, chunk, forwards_[chunk]); }
  void backward(int chunk) { add(Kind::kBackward, chunk, backwards_[chunk]); }
  // The input's gradient alone; the weights' comes later.
  void split(int chunk) {
    add(Kind::kInputGradient, chunk, backwards_[chunk]);
    put_off_.push_back(compute(Kind::kWeightGradient, ops_.back().micro, stages_[chunk]));
  }
  void weight() {
    if (put_off_.empty()) return;
    ops_.push_back(put_off_.front());
    put_off_.pop_front();
  }

  // From its middle on, weight gradients are put off to fill the bubbles of the end.
  void cool_down() {
    for (int i = 0; i <= device_; ++i) {
      for (const int chunk : {1, 0}) {
        const bool second_half = 2 * i + (chunk == 0 ? 1 : 0) > device_;
        second_half ? split(chunk) : backward(chunk);
      }
    }
    for (int i = 0; i < after_; ++i) {
      weight();
      split(0);
    }
    for (int i = 0; i <= device_; ++i) weight();
  }

  int device_, after_;
  int stages_[2];
  int forwards_[2] = {}, backwards_[2] = {};  // of each chunk so far
  std::deque<Op> put_off_;
  OpList ops_;
};

void check_dualpipe_v(const Request& request) {
  if (request.micro_batches >= 2 * request.devices) return;
  throw UsageError(core::cat("pipeline: dualpipe-v: ", request.micro_batches, " micro-batches on ",
                             request.devices, " devices; expected at least ", 2 * request.devices,
                             ", one for each stage"));
}

}  // namespace

Schedule dualpipe_v() {
  Schedule schedule = v_shaped("dualpipe-v");
  schedule.about = "DualPipe with stages in a V: a forward beside each backward (only simulated)";
  schedule.order = [](const Placement& placement, int device, Phase phase) {
    return phase == Phase::kPredict ? v_forwards(placement, device)
                                    : DualPipeVOrder(placement, device).take();
  };
  schedule.stash_bound = [](const Placement& placement, int) { return placement.stages + 1; };
  schedule.check = [chunks = schedule.check](const Request& request) {
    chunks(request);
    check_dualpipe_v(request);
  };
  return schedule;
}

}  // namespace adagp::pipeline
