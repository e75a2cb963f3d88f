#include "adagp/train/heldout.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"
#include "adagp/nn/batch_norm.h"
#include "adagp/train/precision.h"

namespace adagp::train {

std::vector<int64_t> heldout_examples(const Config& config, int64_t examples) {
  if (config.automatic.heldout >= examples) {
    throw UsageError(core::cat("auto.heldout: ", config.automatic.heldout, ", expected 1 to ",
                               examples - 1, ": the data set has ", examples,
                               " training examples"));
  }
  constexpr uint64_t kPurpose = 0x68656c646f7574ULL;
  auto order =
      core::permutation(examples, core::mix({static_cast<uint64_t>(config.seed), kPurpose}));
  order.resize(static_cast<size_t>(config.automatic.heldout));
  return order;
}

std::vector<float> all_but_heldout_rule(const Config& config, const SelectionCase& now) {
  std::vector<float> weights(now.losses.size(), 1.0F);
  for (const int64_t i : heldout_examples(config, static_cast<int64_t>(weights.size()))) {
    weights[static_cast<size_t>(i)] = 0;
  }
  return weights;
}

HeldOut::HeldOut(Session& s) {
  auto plan = std::make_shared<data::EpochPlan>();
  plan->order = heldout_examples(s.config, s.task->train_size());
  examples_ = static_cast<int64_t>(plan->order.size());
  for (int64_t begin = 0; begin < examples_; begin += s.config.eval_batch) {
    plan->batches.push_back({begin, std::min(s.config.eval_batch, examples_ - begin)});
  }
  const auto source =
      s.task->batches(s.config, Use::kTrainInOrder, s.device, {}, [plan](int64_t) { return plan; });
  for (size_t i = 0; i < plan->batches.size(); ++i) batches_.push_back(source->next());
}

double HeldOut::loss(Session& s) const {
  const at::NoGradGuard no_grad;
  const nn::KeepStatistics looking_only;
  at::Tensor sum = at::zeros({}, at::TensorOptions(s.device).dtype(at::kDouble));
  for (const data::Batch& batch : batches_) {
    const AutocastScope autocast(s.device, s.bf16());
    sum += s.task->losses(s.net->run(batch.inputs), batch.targets).sum(at::kDouble);
  }
  return sum.item<double>() / static_cast<double>(examples_);
}

}  // namespace adagp::train
