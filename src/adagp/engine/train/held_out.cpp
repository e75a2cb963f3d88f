#include "adagp/engine/train/held_out.h"

#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/held_out.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {
namespace {

// One epoch of some training examples, the same every time.
class HeldOutBatches : public data::BatchSource {
 public:
  HeldOutBatches(const step::Session& s, std::vector<int64_t> examples)
      : laid_out_(std::make_shared<const plan::EpochPlan>(
            plan::in_batches(std::move(examples), s.config.eval_batch))),
        source_(s.task->batches(s.config, task::Use::kTrainInOrder, s.device, {},
                                [all = laid_out_](int64_t) { return all; })) {}

  int64_t batches_per_epoch() const override {
    return static_cast<int64_t>(laid_out_->batches.size());
  }
  void seek(int64_t epoch, int64_t position) override { source_->seek(epoch, position); }
  data::Batch next() override { return source_->next(); }
  void skip() override { source_->skip(); }
  void only_part(int64_t part, int64_t parts) override { source_->only_part(part, parts); }

 private:
  std::shared_ptr<const plan::EpochPlan> laid_out_;
  std::unique_ptr<data::BatchSource> source_;
};

void check_can_hold_out(const step::Session& s, const method::MethodEntry& method) {
  std::string why;
  if (!s.team->solo()) {
    why = "it needs a run of one process, without --parallel";
  } else if (!s.task->plans_epochs()) {
    why = core::cat("the task is ", models::task_name(s.task->kind()),
                    ", and only classification can leave examples out");
  } else if (method.length) {
    why = "method " + method.name + " counts batches of epochs with all examples";
  } else if (method.select && !method.select.by_loss) {
    why = "method " + method.name + " holds out examples of its own";
  }
  if (!why.empty()) throw UsageError("policy.watch = held-out: " + why + "; train can be watched");
}

}  // namespace

HeldOut::HeldOut(const step::Session& s, const method::MethodEntry& method) : rule_(method.select) {
  if (!schedule::watches_held_out(s.config.policy)) return;
  check_can_hold_out(s, method);
  const auto examples = plan::watched_examples(s.config, s.task->train_size());
  rule_ = plan::all_but(examples, method.select);
  batches_ = std::make_unique<HeldOutBatches>(s, examples);
}

std::optional<double> HeldOut::loss(StepRunner& steps) const {
  if (!batches_) return {};
  return steps.evaluate(*batches_, {.thorough = false}).loss;
}

}  // namespace adagp::train
