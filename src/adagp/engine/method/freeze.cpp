// freeze: exact gradients of a part of the network, the blocks at its end.

#include "adagp/base/plan/frozen_blocks.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/engine/method/entries.h"

namespace adagp::method {
namespace {

// From given shares of the epochs on, the first blocks are no longer trained.
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

MethodEntry entries::freeze() {
  return {.name = "freeze",
          .about = "exact: the first blocks stop learning one after the other",
          .make = maker<Freeze>()};
}

}  // namespace adagp::method
