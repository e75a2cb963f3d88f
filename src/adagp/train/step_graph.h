#pragma once
// One kind of step on a GPU: run as it is for the first batches, then recorded once as a CUDA graph
// and replayed, so that the host has nothing left to do between kernels.

#include <functional>
#include <string>

#include "adagp/device/graph.h"
#include "adagp/train/session.h"

namespace adagp::train {

class StepGraph {
 public:
  // What is recorded must not ask the device anything, and must find its tensors where they were:
  // rates and counters live in device memory, the batch is copied into the graph's own.
  using Step = std::function<StepResult(const data::Batch&)>;

  // `name` is for messages; `enabled` = false: never recorded.
  explicit StepGraph(std::string name = "", bool enabled = true);

  // The step on this batch. A batch of another shape than the recorded one is run as it is. The
  // result is valid until the next step.
  StepResult run(Session& session, const data::Batch& batch, const Step& step);

  // warm-up: not yet recorded; replay: recorded; eager: it never will be, see reason().
  enum class State { kWarmUp, kReplay, kEager };
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }

 private:
  void record(Session& session, const data::Batch& batch, const Step& step);
  bool fits(const data::Batch& batch) const;

  std::string name_;
  State state_ = State::kWarmUp;
  std::string reason_;
  int warm_ups_ = 0;
  data::Batch inputs_;
  StepResult result_;
  device::Graph graph_;
};

}  // namespace adagp::train
