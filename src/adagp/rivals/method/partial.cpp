// partial: in GP batches the backward pass stops after the last blocks.

#include "adagp/engine/method/backprop.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

class Partial : public Backprop {
 public:
  explicit Partial(const step::Session& s)
      : first_(checked_blocks(s, s.config.parts.get<rivals::PartialOptions>().blocks,
                              "partial.blocks")) {}
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

}  // namespace

MethodEntry entries::partial() {
  return {.name = "partial",
          .about = "exact: in GP batches the backward pass stops after the last blocks",
          .cheap = Cheap::kScheduled,
          .make = maker<Partial>()};
}

}  // namespace adagp::method
