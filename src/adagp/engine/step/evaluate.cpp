#include "adagp/engine/step/evaluate.h"

#include <ATen/ATen.h>

#include "adagp/engine/step/out_of_memory.h"
#include "adagp/gpu/device/autocast.h"

namespace adagp::step {
namespace {

task::Seen forward_all(Session& s, data::BatchSource& source, StepGraph* graph,
                       const task::See& see) {
  s.check_intact();
  const at::NoGradGuard no_grad;
  const bool was_training = s.net->is_training();
  s.net->eval();
  // The graph remembers where its figures go: one tally, lent by the session and given back.
  const std::vector<double> training = s.tally.state();
  s.tally.reset();
  const auto forward = [&](const data::Batch& batch) {
    StepResult result;
    {
      const device::AutocastScope autocast(s.device, s.bf16);
      result.outputs = s.net->run(batch.inputs);
    }
    result.loss = s.loss(result.outputs, batch, false).value;
    return result;
  };
  task::Seen out;
  source.seek(0, 0);
  for (int64_t i = 0; i < source.batches_per_epoch(); ++i) {
    const data::Batch batch = source.next();
    const StepResult result = run_in_memory(s, "evaluation", batch, forward, [&] {
      return graph != nullptr ? graph->run(s, batch, forward) : forward(batch);
    });
    out.examples += batch.size();
    if (see) see(batch, result.outputs);
  }
  s.net->train(was_training);
  out.tally = s.tally.read();
  s.tally.reset();
  s.tally.load_state(training);
  return out;
}

}  // namespace

task::Evaluation evaluate(Session& s, data::BatchSource& source, StepGraph* graph,
                          const task::EvaluationRequest& request) {
  const task::EvaluatedNet net{s.config, *s.net, s.device,
                               [&](data::BatchSource& from, const task::See& see) {
                                 return forward_all(s, from, graph, see);
                               }};
  return s.task->evaluate(net, source, request);
}

}  // namespace adagp::step
