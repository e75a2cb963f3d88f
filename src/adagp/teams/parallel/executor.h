#pragma once
// One device's op list of one batch, really executed.

#include <deque>
#include <map>
#include <memory>

#include "adagp/engine/io/tensors.h"
#include "adagp/engine/layers/stages.h"
#include "adagp/engine/nn/side_gradients.h"
#include "adagp/engine/step/session.h"
#include "adagp/sim/pipeline/schedules.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/message.h"
#include "adagp/teams/parallel/op_timings.h"

namespace adagp::parallel {

class Executor {
 public:
  struct Options {
    bool recompute = false;    // keep a stage's inputs alone, and run forward again before backward
    std::string timings = {};  // file for the times of the ops; empty: none
  };
  // `pipe` may be null when there is one device.
  Executor(const pipeline::Placement& placement, const layers::Stages& stages, comm::Group* pipe,
           int device, const Options& options);
  Executor(const pipeline::Placement& placement, const layers::Stages& stages, comm::Group* pipe,
           int device)
      : Executor(placement, stages, pipe, device, Options()) {}

  // The compute, send and receive ops of a batch; `batch` has tensors where the first or the last
  // stage is. BP leaves gradients in the parameters, as the share of this pipeline's batch. The
  // session's summaries see the passes when `tapped`.
  step::StepResult run(step::Session& session, const data::Batch& batch, pipeline::Phase phase,
                       bool tapped);

  // Whether this device holds the first or the last stage of a replica.
  bool needs_batches() const;
  const std::vector<int>& stages() const { return own_; }

 private:
  struct Key {
    int stage, micro;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes a 0 for a pointer here
    auto operator<=>(const Key&) const = default;
  };
  struct Kept {
    models::Tensors inputs, outputs;
    task::Loss loss;
    io::TensorMap random = {};  // of the generators before the pass, where it will be run again
    std::shared_ptr<nn::SideGradients> beside = {};  // where this stage is the whole network
  };
  struct State;  // of one batch

  void run_op(State& state, const pipeline::Op& op);
  void forward(State& state, const pipeline::Op& op);
  void backward(State& state, const pipeline::Op& op);
  // The forward pass once more, with its graph.
  void run_again(State& state, const pipeline::Op& op, Kept& kept);
  // Asks for the messages of the next receives from op `from` on, where their specs are known:
  // they then travel while this device computes.
  void expect(State& state, const pipeline::OpList& ops, size_t from);
  void send(State& state, const pipeline::Op& op);
  void receive(State& state, const pipeline::Op& op);
  // A message has come: what its sender must have received before is given up.
  void forget_answered(const pipeline::Op& op);
  bool last(int stage) const { return stage + 1 == placement_.stages; }
  models::Tensors run_blocks(step::Session& session, int stage, const models::Tensors& inputs);
  comm::Route line(const pipeline::Op& op) const;

  pipeline::Placement placement_;
  bool splits_backward_;  // weight gradients are ops of their own
  bool recompute_;
  layers::Stages stages_;
  comm::Group* pipe_;
  int device_;
  std::vector<int> own_;
  std::map<pipeline::Phase, pipeline::OpList> ops_;
  struct Parcel {
    bool gradient;
    Key key;                                          // of the stage that sends
    auto operator<=>(const Parcel&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // What nobody has answered yet, by batch: it is in memory until then. A stage runs ahead of the
  // next by two batches at most.
  std::deque<std::map<Parcel, comm::Transfers>> sent_;
  // Shapes of messages by phase and tag, when all batches have the same: sent with the first
  // only.
  std::map<std::pair<pipeline::Phase, int>, comm::TensorSpecs> specs_;
  int64_t batches_ = 0;
  OpTimings timings_;
};

}  // namespace adagp::parallel
