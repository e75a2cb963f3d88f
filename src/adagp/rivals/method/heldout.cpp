#include "adagp/rivals/method/heldout.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/method/heldout_examples.h"

namespace adagp::method {

HeldOut::HeldOut(step::Session& s) {
  auto plan = std::make_shared<data::EpochPlan>();
  plan->order = heldout_examples(s.config, s.task->train_size());
  examples_ = static_cast<int64_t>(plan->order.size());
  for (int64_t begin = 0; begin < examples_; begin += s.config.eval_batch) {
    plan->batches.push_back({begin, std::min(s.config.eval_batch, examples_ - begin)});
  }
  const auto source = s.task->batches(s.config, task::Use::kTrainInOrder, s.device, {},
                                      [plan](int64_t) { return plan; });
  for (size_t i = 0; i < plan->batches.size(); ++i) batches_.push_back(source->next());
}

double HeldOut::loss(step::Session& s) const {
  const at::NoGradGuard no_grad;
  const nn::KeepStatistics looking_only;
  at::Tensor sum = at::zeros({}, at::TensorOptions(s.device).dtype(at::kDouble));
  for (const data::Batch& batch : batches_) {
    const device::AutocastScope autocast(s.device, s.bf16);
    sum += s.task->losses(s.net->run(batch.inputs), batch.targets).sum(at::kDouble);
  }
  return sum.item<double>() / static_cast<double>(examples_);
}

}  // namespace adagp::method
