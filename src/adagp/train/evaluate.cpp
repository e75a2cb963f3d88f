#include "adagp/train/evaluate.h"

#include <vector>

#include <ATen/ATen.h>

#include "adagp/device/kernels.h"
#include "adagp/train/loss.h"
#include "adagp/train/out_of_memory.h"
#include "adagp/train/precision.h"

namespace adagp::train {

Evaluation evaluate(Session& s, data::Loader& loader, StepGraph* graph, bool keep_logits) {
  const at::NoGradGuard no_grad;
  const bool was_training = s.net->is_training();
  s.net->eval();
  // The graph remembers where its figures go: one tally, lent by the session and given back.
  const std::vector<double> training = s.tally.state();
  s.tally.reset();
  std::vector<at::Tensor> kept;
  const auto forward = [&](const data::Batch& batch) {
    StepResult result;
    {
      const AutocastScope autocast(s.device, s.bf16());
      result.logits = s.net->forward(batch.images);
    }
    result.loss = take_loss(s.tally, 0.0, result.logits, batch.labels, false).value;
    return result;
  };
  loader.seek(0, 0);
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const data::Batch batch = loader.next();
    const StepResult result = run_in_memory(s, "evaluation", batch, forward, [&] {
      return graph != nullptr ? graph->run(s, batch, forward) : forward(batch);
    });
    if (keep_logits) kept.push_back(result.logits.to(at::kFloat).cpu());
  }
  s.net->train(was_training);
  const Tally::Values seen = s.tally.read();
  s.tally.reset();
  s.tally.load_state(training);
  Evaluation out;
  out.top1 = seen.top1();
  out.top5 = seen.top5();
  out.loss = seen.loss();
  out.images = static_cast<int64_t>(seen.count);
  if (keep_logits) out.logits = at::cat(kept);
  return out;
}

}  // namespace adagp::train
