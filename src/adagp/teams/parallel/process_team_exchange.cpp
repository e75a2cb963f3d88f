// What the processes of a team exchange in a batch.

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/gpu/device/outside.h"
#include "adagp/teams/parallel/process_team.h"

namespace adagp::parallel {

using core::cat;

void ProcessTeam::take_shares(const step::Session& session, const data::Batch& batch) {
  norms_.weight = weight_of(batch);
  equal_shares_ = batch.whole % shape_.copies == 0;
  if (!equal_shares_) expect_unlike_shares(session.config);  // the plan has told it before
}

// Copies whose micro-batches differ in number would wait for each other's statistics.
void ProcessTeam::expect_unlike_shares(const config::RunConfig& config) const {
  if (synced() == nullptr || config.accumulate == 1) return;
  throw UsageError(cat("sync-norm: method ", config.method, " may have batches that ",
                       shape_.copies,
                       " copies cannot share equally, and with accumulate = ", config.accumulate,
                       " their micro-batches do not fit each other; leave out "
                       "sync-norm, use a number of copies that divides every batch, or begin "
                       "a run with accumulate = 1"));
}

Compressor* ProcessTeam::compressor(step::Session& session) {
  if (!compressor_ && copies_) {
    compressor_ = make_compressor(session.config, *copies_, session.optimizer->params());
    if (compressor_) compressor_->load_state(std::exchange(saved_compressor_, {}));
  }
  return compressor_.get();
}

void ProcessTeam::begin_gradients(step::Session& session) {
  if (!copies_ || compressor(session) != nullptr) return;
  if (!buckets_) {
    buckets_ = std::make_unique<Buckets>(*copies_, session.optimizer->params());
  }
  // Gradients that wait for a partner, are put off, or are added up elsewhere first cannot leave
  // early.
  const bool early = equal_shares_ && !pair_ && tied_.empty() && !device::records() &&
                     placement_.schedule != "zero-bubble" &&
                     (!session.bf16 || placement_.micro_batches == 1);
  buckets_->begin(early ? placement_.micro_batches : 0, [this] { return doing("gradients"); });
}

void ProcessTeam::join_gradients(step::Session& session) {
  if (pair_) {
    std::vector<at::Tensor> gradients;
    for (const auto& param : session.optimizer->params()) gradients.push_back(gradient_of(param));
    pair_->sum(gradients, doing("gradients"));
  }
  for (const Tied& tied : tied_) {
    if (!tied.group) continue;
    for (const auto& param : session.optimizer->params()) {
      if (param.name != tied.name) continue;
      std::vector<at::Tensor> one{gradient_of(param)};
      tied.group->sum(one, doing("gradients of a tied weight"));
      // Each of a stage's replicas has the sum of both.
      if (placement_.replicas > 1) one[0].div_(static_cast<double>(placement_.replicas));
    }
  }
  if (!copies_) return;
  // The exchange makes gradients where there are none. Decay and momentum would then move frozen
  // blocks.
  std::vector<at::Tensor> frozen;
  for (size_t i = 0; session.first_block > 0 && i < session.optimizer->params().size(); ++i) {
    if (session.optimizer->gradient(i).defined()) continue;
    const optim::Param& param = session.optimizer->params()[i];
    frozen.insert(frozen.end(), {param.value, param.bf16_copy});
  }
  average_gradients(session);
  for (const at::Tensor& leaf : frozen) {
    if (leaf.defined()) leaf.mutable_grad().reset();
  }
}

void ProcessTeam::average_gradients(step::Session& session) {
  if (Compressor* compressed = compressor(session)) {
    // In bf16 the means would be rounded, and no residual would hold the rest.
    step::gather_bf16_gradients(session);
    compressed->average(session.optimizer->params(), doing("gradients"));
    ++gradients_.batches;
    gradients_.bytes = compressed->bytes();
    return;
  }
  buckets_->finish();
  double bytes = 0;
  for (const auto& param : session.optimizer->params()) {
    bytes += bytes_of_sum(static_cast<double>(param.value.numel()) * 4, shape_.copies);
  }
  device::outside([this, bytes] { gradients_.add(bytes); });
}

void ProcessTeam::join_summaries(step::Session& session, bool between_copies) {
  const at::Tensor rows = session.summaries->rows();
  const auto mean = [&](comm::Group* group) {
    if (group == nullptr) return;
    device::outside(
        [this, group, rows] { group->mean_later(rows, doing("summaries"), false)->wait(); });
  };
  mean(pair_.get());
  if (!between_copies || !copies_) return;
  if (norms_.weight != 1) rows.mul_(norms_.weight);
  mean(copies_.get());
  const double bytes = bytes_of_sum(static_cast<double>(rows.numel()) * 4, shape_.copies);
  device::outside([this, bytes] { summaries_.add(bytes); });
}

void ProcessTeam::sum_over_stages(std::vector<at::Tensor>& tensors) {
  if (!pipe_) return;
  pipe_->sum(tensors, doing("the predictor's gradients"));
  // Both replicas have counted their layers.
  if (placement_.replicas > 1) {
    for (at::Tensor& tensor : tensors) tensor.div_(static_cast<double>(placement_.replicas));
  }
}

void ProcessTeam::sum_over_copies(at::Tensor& tensor, const char* what) {
  if (!copies_) return;
  device::outside([this, tensor, what] {
    std::vector<at::Tensor> one{tensor};
    copies_->sum(one, doing(what));
  });
}

}  // namespace adagp::parallel
