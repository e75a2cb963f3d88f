// Exact gradients of a part of the network: the blocks at its end.

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/frozen_blocks.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/engine/method/entries.h"

namespace adagp::method {
namespace {

// How many blocks may be left alone: not all of them.
int64_t checked_blocks(const step::Session& s, int64_t blocks, const std::string& key) {
  const auto* net = dynamic_cast<const models::BlockNet*>(s.net.get());
  if (net == nullptr) {
    throw UsageError("method " + s.config.method + " needs a network made of blocks, and " +
                     s.config.model.name + " is none");
  }
  require_alone(s);
  const auto most = static_cast<int64_t>(net->blocks().size()) - 1;
  if (blocks >= 0 && blocks <= most) return blocks;
  throw UsageError(core::cat(key, ": ", blocks, ", expected 0 to ", most, ": ", s.config.model.name,
                             " has ", most + 1, " blocks and the last one is always trained"));
}

// partial: in GP batches the backward pass stops after the last blocks.
class Partial : public Backprop {
 public:
  explicit Partial(const step::Session& s)
      : first_(checked_blocks(s, s.config.partial_blocks, "partial.blocks")) {}
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    const int64_t before = std::exchange(s.first_block, first_);
    step::StepResult result = Backprop::cheap_step(s, batch);
    s.first_block = before;
    return result;
  }
  double cost(const step::Session&, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    const bool cheap = context.cheap();
    return costs.backprop(0, cheap ? first_ : 0) * static_cast<double>(examples);
  }

 private:
  int64_t first_;
};

// freeze: from given shares of the epochs on, the first blocks are no longer trained.
class Freeze : public Backprop {
 public:
  explicit Freeze(const step::Session& s) : plan_(plan::freeze_plan(s.config)) {
    for (const int64_t blocks : s.config.freeze.blocks) checked_blocks(s, blocks, "freeze.blocks");
  }
  const plan::BatchPlan& batch_plan() const override { return plan_; }

 private:
  plan::BatchPlan plan_;
};

}  // namespace

MethodEntry entries::partial() {
  return {.name = "partial",
          .about = "exact: in GP batches the backward pass stops after the last blocks",
          .cheap = Cheap::kScheduled,
          .make = maker<Partial>()};
}

MethodEntry entries::freeze() {
  return {.name = "freeze",
          .about = "exact: the first blocks stop learning one after the other",
          .make = maker<Freeze>()};
}

}  // namespace adagp::method
