#include "adagp/rivals/method/heldout.h"

#include <ATen/ATen.h>

#include "adagp/base/plan/held_out.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/method/heldout_examples.h"

namespace adagp::method {

HeldOut::HeldOut(step::Session& s) {
  const auto all = std::make_shared<const plan::EpochPlan>(
      plan::in_batches(heldout_examples(s.config, s.task->train_size()), s.config.eval_batch));
  examples_ = static_cast<int64_t>(all->order.size());
  const auto source = s.task->batches(s.config, task::Use::kTrainInOrder, s.device, {},
                                      [all](int64_t) { return all; });
  for (size_t i = 0; i < all->batches.size(); ++i) batches_.push_back(source->next());
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
