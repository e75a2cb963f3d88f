// ZB-V (Qi et al., "Zero bubble pipeline parallelism", section 6): stages in a V, backward passes
// in two halves. If forward pass and both halves take equally long, a device never waits between
// its first and its last pass, and keeps the activations of 1F1B's first device.

#include <algorithm>
#include <utility>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

// The passes of a device with the numbers of their micro-batches.
class ZbVOrder {
 public:
  ZbVOrder(const Placement& placement, int device)
      : devices_(placement.devices),
        device_(device),
        stages_{device, placement.stages - 1 - device} {
    // The order is made for enough micro-batches to fill the V; what is too much is left out.
    micro_batches_ = std::max(2 * devices_ - 1, placement.micro_batches);
    warm_up();
    steady();
    cool_down();
    std::erase_if(ops_, [&](const Op& op) { return op.micro >= placement.micro_batches; });
  }
  OpList take() { return std::move(ops_); }

 private:
  void forward(int chunk) { add(Kind::kForward, chunk, forwards_[chunk]); }
  void input(int chunk) { add(Kind::kInputGradient, chunk, inputs_[chunk]); }
  void weight(int chunk) { add(Kind::kWeightGradient, chunk, weights_[chunk]); }
  void add(Kind kind, int chunk, int& next) {
    ops_.push_back(compute(kind, next++, stages_[chunk]));
  }
  void backward(int chunk) {
    input(chunk);
    weight(chunk);
  }

  void warm_up() {
    for (int i = 0; i < 2 * (devices_ - device_) - 1; ++i) forward(0);
    for (int i = 0; i < device_; ++i) {
      forward(1);
      forward(0);
    }
    for (int i = 0; i < devices_ - device_; ++i) {
      forward(1);
      backward(1);
    }
  }
  void steady() {
    while (forwards_[1] < micro_batches_) {
      if (forwards_[0] < micro_batches_) forward(0);
      backward(0);
      forward(1);
      backward(1);
    }
  }
  void cool_down() {
    for (int i = 0; i < device_; ++i) {
      input(0);
      input(1);
    }
    for (int i = 0; i < devices_ - device_; ++i) backward(0);
    while (weights_[1] < micro_batches_) weight(1);
    while (weights_[0] < micro_batches_) weight(0);
  }

  int devices_, device_, micro_batches_ = 0;
  int stages_[2];
  int forwards_[2] = {}, inputs_[2] = {}, weights_[2] = {};  // of each chunk so far
  OpList ops_;
};

}  // namespace

Schedule zb_v() {
  Schedule schedule = v_shaped("zb-v");
  schedule.about = "zero bubble with stages in a V: no bubbles if F = I = W (only simulated)";
  schedule.order = [](const Placement& placement, int device, Phase phase) {
    return phase == Phase::kPredict ? v_forwards(placement, device)
                                    : ZbVOrder(placement, device).take();
  };
  schedule.stash_bound = [](const Placement& placement, int) {
    return 2 * std::min(placement.micro_batches, placement.devices);
  };
  return schedule;
}

}  // namespace adagp::pipeline
