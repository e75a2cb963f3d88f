// Exact gradients of a part of the network: the blocks at its end.

#include <cmath>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/method/backprop.h"
#include "adagp/method/factories.h"

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
  double cost(const step::Session&, const Costs& costs, const BatchContext& moment,
              int64_t examples) const override {
    const bool cheap = moment.phase == schedule::Phase::kPredict;
    return costs.backprop(0, cheap ? first_ : 0) * static_cast<double>(examples);
  }

 private:
  int64_t first_;
};

// freeze: from given shares of the epochs on, the first blocks are no longer trained.
class Freeze : public Backprop {
 public:
  explicit Freeze(const step::Session& s) {
    const auto& freeze = s.config.freeze;
    if (freeze.at.size() != freeze.blocks.size()) {
      throw UsageError(core::cat("freeze.at and freeze.blocks: ", freeze.at.size(), " and ",
                                 freeze.blocks.size(), " numbers, expected equally many"));
    }
    for (size_t i = 0; i < freeze.at.size(); ++i) {
      if (!(freeze.at[i] >= 0 && freeze.at[i] <= 1)) {
        throw UsageError(core::cat("freeze.at: ", freeze.at[i], ", expected 0 to 1"));
      }
      steps_.push_back({freeze.at[i], checked_blocks(s, freeze.blocks[i], "freeze.blocks")});
    }
  }
  int64_t frozen_blocks(const BatchContext& moment) const override {
    int64_t frozen = 0;
    for (const auto& step : steps_) {
      if (moment.epoch >= step.first_epoch(moment.epochs)) frozen = step.blocks;
    }
    return frozen;
  }
  std::vector<int64_t> turns(int64_t epochs) const override {
    std::vector<int64_t> out;
    for (const auto& step : steps_) out.push_back(step.first_epoch(epochs));
    return out;
  }

 private:
  struct Step {
    double from;  // share of the epochs
    int64_t blocks;
    int64_t first_epoch(int64_t epochs) const {
      return std::llround(from * static_cast<double>(epochs));
    }
  };
  std::vector<Step> steps_;
};

}  // namespace

MethodMaker partial_method() {
  return maker<Partial>();
}
MethodMaker freeze_method() {
  return maker<Freeze>();
}

}  // namespace adagp::method
