#include "adagp/engine/method/backprop.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/entries.h"
#include "adagp/engine/step/team.h"

namespace adagp::method {
namespace {

// skip: GP batches are dropped.
class Skip : public Backprop {
 public:
  step::StepResult cheap_step(step::Session&, const data::Batch&) override {
    return {{}, {}, {}, schedule::Phase::kPredict};
  }
  Traits traits() const override { return {.cheap_needs_data = false, .cheap_does_work = false}; }
  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    if (context.cheap()) return 0;
    return Backprop::cost(s, costs, context, examples);
  }
};

// small-batch: an exact step on the first part of a GP batch.
class SmallBatch : public Backprop {
 public:
  explicit SmallBatch(const step::Session& s) {
    if (s.team->solo()) return;
    const bool fixed = s.team->splits_layers() || s.config.accumulate > 1;
    if (fixed) {
      throw UsageError("method " + s.config.method +
                       " cannot run in micro-batches, whose size is fixed");
    }
    if (!find_method(s.config.method).select) return;
    throw UsageError("method " + s.config.method +
                     ": a rule that leaves out examples may give processes unlike shares of a "
                     "batch, and small-batch takes parts of them as if they were alike; leave out "
                     "the rule or --parallel");
  }
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    return Backprop::cheap_step(s, batch.part(0, part_of(s, batch.size())));
  }
  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    const bool cheap = context.cheap();
    return Backprop::cost(s, costs, context, cheap ? part_of(s, examples) : examples);
  }

 private:
  static int64_t part_of(const step::Session& s, int64_t examples) {
    return std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<double>(examples) * s.config.small_batch));
  }
};

}  // namespace

MethodEntry entries::bp() {
  return {.name = "bp",
          .about = "plain backprop on every batch",
          .standing = Standing::kRecommended,
          .make = maker<Backprop>()};
}

MethodEntry entries::skip() {
  return {.name = "skip",
          .about = "GP batches are dropped",
          .standing = Standing::kControl,
          .cheap = Cheap::kScheduled,
          .make = maker<Skip>()};
}

MethodEntry entries::small_batch() {
  return {.name = "small-batch",
          .about = "exact backprop on a quarter of each GP batch",
          .standing = Standing::kControl,
          .cheap = Cheap::kScheduled,
          .make = maker<SmallBatch>()};
}

}  // namespace adagp::method
