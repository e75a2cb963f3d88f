#pragma once
// Runs the steps of a method: recorded as CUDA graphs where they can be, one recording for each
// kind of step.

#include <map>
#include <tuple>

#include "adagp/engine/method/method.h"
#include "adagp/engine/step/step_graph.h"

namespace adagp::train {

class StepRunner {
 public:
  // All of them outlive it.
  StepRunner(step::Session& session, method::Method& method, method::Probes& probes);

  // A BP batch, the one with this number (from 0): the probes measure in some of them.
  step::StepResult exact(const data::Batch& batch, int64_t number);
  step::StepResult cheap(const data::Batch& batch);
  task::Evaluation evaluate(data::BatchSource& source, const task::EvaluationRequest& request);

  // On a GPU: what is done once for a kind of step (recording it, choices of libraries) is done
  // before the run, where the method decides on the way and begins some kinds of steps late.
  void warm_up();

 private:
  bool records() const;
  step::StepResult run(step::StepGraph& graph, const char* phase, const data::Batch& batch,
                       const step::StepGraph::Step& step);

  step::Session& session_;
  method::Method& method_;
  method::Probes& probes_;
  // By what a probe does in the step, how many blocks are frozen, the method's own kind.
  std::map<std::tuple<method::Probes::Turn, int64_t, int64_t>, step::StepGraph> exact_graphs_;
  std::map<int64_t, step::StepGraph> cheap_graphs_;
  step::StepGraph evaluation_graph_;
  bool told_ = false;  // that steps are recorded
};

}  // namespace adagp::train
