#include "adagp/method/backprop.h"

#include <algorithm>

#include "adagp/method/factories.h"

namespace adagp::method {
namespace {

// skip: GP batches are dropped.
class Skip : public Backprop {
 public:
  step::StepResult cheap_step(step::Session&, const data::Batch&) override {
    return {{}, {}, {}, schedule::Phase::kPredict};
  }
  bool cheap_needs_data() const override { return false; }
  bool cheap_does_work() const override { return false; }
  double cost(const step::Session& s, const Costs& costs, const BatchContext& moment,
              int64_t examples) const override {
    if (moment.phase == schedule::Phase::kPredict) return 0;
    return Backprop::cost(s, costs, moment, examples);
  }
};

// small-batch: an exact step on the first part of a GP batch.
class SmallBatch : public Backprop {
 public:
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    return Backprop::cheap_step(s, batch.part(0, part_of(s, batch.size())));
  }
  double cost(const step::Session& s, const Costs& costs, const BatchContext& moment,
              int64_t examples) const override {
    const bool cheap = moment.phase == schedule::Phase::kPredict;
    return Backprop::cost(s, costs, moment, cheap ? part_of(s, examples) : examples);
  }

 private:
  static int64_t part_of(const step::Session& s, int64_t examples) {
    return std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<double>(examples) * s.config.small_batch));
  }
};

}  // namespace

MethodMaker backprop_method() {
  return maker<Backprop>();
}
MethodMaker skip_method() {
  return maker<Skip>();
}
MethodMaker small_batch_method() {
  return maker<SmallBatch>();
}

}  // namespace adagp::method
