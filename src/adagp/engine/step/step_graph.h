#pragma once
// One kind of step on a GPU: run as it is for the first batches of a shape, then recorded as a CUDA
// graph and replayed, so that the host has nothing left to do between kernels.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adagp/engine/step/session.h"
#include "adagp/gpu/device/graph.h"

namespace adagp::step {

class StepGraph {
 public:
  // What is recorded must not ask the device anything, and must find its tensors where they were:
  // rates and counters live in device memory, the batch is copied into the graph's own.
  using Step = std::function<StepResult(const data::Batch&)>;

  // `name` is for messages; `enabled` = false: never recorded.
  explicit StepGraph(std::string name = "", bool enabled = true);

  // The step on this batch. Every shape has a recording of its own, up to a limit; what is beyond
  // it is run as it is. The result is valid until the next step.
  StepResult run(Session& session, const data::Batch& batch, const Step& step);

  // warm-up: nothing is recorded yet; replay: at least one shape is; eager: none ever will be, see
  // reason().
  enum class State { kWarmUp, kReplay, kEager };
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }

 private:
  struct Recording {
    data::Batch inputs;  // shapes from the first sight on; the graph's own tensors once recorded
    int seen = 0;
    StepResult result = {};
    device::Graph graph = {};
  };
  // Null: too many shapes.
  Recording* find(const Session& session, const data::Batch& batch);
  void record(Session& session, Recording& recording, const Step& step);

  std::string name_;
  State state_ = State::kWarmUp;
  std::string reason_;
  std::vector<std::unique_ptr<Recording>> recordings_;
};

}  // namespace adagp::step
