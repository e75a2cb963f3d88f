#pragma once
// Seconds of steps, measured on networks that are thrown away.

#include <string>
#include <vector>

#include "adagp/engine/step/step_graph.h"
#include "adagp/engine/task/network.h"

namespace adagp::step {

struct Timing {
  double median = 0, p10 = 0, p90 = 0;
};

// One kind of step, and where its timing is written.
struct TimedStep {
  std::string name;
  StepGraph::Step step;
  Timing* timing;
  double* peak = nullptr;  // bytes of GPU memory; null: not asked for
  StepGraph graph = StepGraph();
};

// A session that trains with a tiny learning rate: the work is real, the weights stay sane.
Session throw_away_session(const config::RunConfig& config, const task::TaskPtr& task,
                           const task::NetMaker& make_net, bool with_predictor);

// `repeats` timed steps of each kind after a warm-up, interleaved so that a slow moment of the
// machine hits all of them; on a GPU all are queued before anything is waited for, so that it never
// idles. Long ones show progress on stderr. Returns whether all were replayed from CUDA graphs.
bool time_steps(Session& session, const data::Batch& batch, std::vector<TimedStep>& steps,
                int repeats);

// The network alone, without a graph of autograd: in training mode, in evaluation mode.
StepResult forward_alone(Session& session, const data::Batch& batch);
StepResult evaluation_forward(Session& session, const data::Batch& batch);

// Seconds of the plain backprop step.
double measure_exact_step(const config::RunConfig& config, const task::TaskPtr& task,
                          const task::NetMaker& make_net, const data::Batch& batch, int repeats);

}  // namespace adagp::step
