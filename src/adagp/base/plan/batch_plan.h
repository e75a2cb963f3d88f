#pragma once
// How the batches of a run differ from the usual ones: sizes, learning rate, frozen blocks.
// No torch here.

#include <cstdint>
#include <functional>
#include <vector>

#include "adagp/base/schedule/schedule.h"

namespace adagp::plan {

// Where in the run a batch is.
struct BatchContext {
  int64_t epoch = 0, epochs = 1;
  schedule::Phase phase = schedule::Phase::kBackprop;

  bool cheap() const { return phase == schedule::Phase::kPredict; }
};

struct BatchShape {
  int64_t image_side = 0;     // of the images that the network sees; 0: as the data is
  int64_t examples = 0;       // 0: the configured number
  double rate = 1;            // what the learning rate is multiplied by
  int64_t frozen_blocks = 0;  // blocks at the network's beginning that a full step leaves alone
};

// A method's plan of its batches. Without functions all batches are the usual ones.
struct BatchPlan {
  std::function<BatchShape(const BatchContext&)> shape = {};
  // Epochs at which it begins to do something else, in a run of so many epochs: those that follow
  // from the run's length. In no order; they may lie beyond the run.
  std::function<std::vector<int64_t>(int64_t epochs)> turns = {};
  std::vector<int64_t> image_sides = {};  // that the network may see beside the data's own
  bool resizes_batches = false;           // whether `examples` is ever another number

  BatchShape at(const BatchContext& context) const { return shape ? shape(context) : BatchShape(); }
  std::vector<int64_t> turns_in(int64_t epochs) const {
    return turns ? turns(epochs) : std::vector<int64_t>();
  }
};

}  // namespace adagp::plan
