#include "adagp/train/evaluate.h"

#include <vector>

#include <ATen/ATen.h>

#include "adagp/metrics/meters.h"
#include "adagp/train/precision.h"

namespace adagp::train {

Evaluation evaluate(models::Net& net, data::Loader& loader, at::Device device, bool bf16,
                    bool keep_logits) {
  const at::NoGradGuard no_grad;
  const bool was_training = net.is_training();
  net.eval();
  metrics::TopK accuracy;
  metrics::Mean loss;
  std::vector<at::Tensor> kept;
  loader.seek(0, 0);
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const data::Batch batch = loader.next();
    at::Tensor logits;
    {
      const AutocastScope autocast(device, bf16);
      logits = net.forward(batch.images);
    }
    if (bf16) logits = logits.to(at::kFloat);
    accuracy.add(logits, batch.labels);
    loss.add(at::cross_entropy_loss(logits, batch.labels), batch.labels.size(0));
    if (keep_logits) kept.push_back(logits.to(at::kFloat).cpu());
  }
  net.train(was_training);
  Evaluation out;
  out.top1 = accuracy.value().top1;
  out.top5 = accuracy.value().top5;
  out.loss = loss.value();
  out.images = accuracy.count();
  if (keep_logits) out.logits = at::cat(kept);
  return out;
}

}  // namespace adagp::train
