#include "adagp/engine/step/observe.h"

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/reversible.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/restoration.h"
#include "adagp/engine/step/team.h"

namespace adagp::step {
namespace {

// Weights do not move, and norms leave their statistics alone. Nothing is written to tensors that
// graphs of other batches, which a method may have under way, have saved.
class RestoreScope {
 public:
  explicit RestoreScope(Session& s)
      : random_(generator_state(*s.team, s.device)),
        tally_(s.tally.state()),
        losses_(s.stored_losses),
        first_block_(s.first_block),
        parts_(s.config.accumulate),
        restoration_(s, "the state before a batch that was only looked at",
                     [this, &s] { restore(s); }) {
    s.stored_losses.reset();
    s.first_block = 0;
    s.config.accumulate = 1;
  }
  RestoreScope(const RestoreScope&) = delete;
  RestoreScope& operator=(const RestoreScope&) = delete;

  void end() { restoration_.now(); }
  int64_t parts() const { return parts_; }

 private:
  void restore(Session& s) const {
    s.optimizer->clear_gradients();
    s.config.accumulate = parts_;
    s.first_block = first_block_;
    s.stored_losses = losses_;
    s.tally.load_state(tally_);
    load_generator_state(*s.team, s.device, random_);
  }

  io::TensorMap random_;
  std::vector<double> tally_;
  at::Tensor losses_;
  int64_t first_block_, parts_;
  Restoration restoration_;  // reads the others
};

}  // namespace

void observe_batch(Session& s, const data::Batch& batch, nn::TapSink& sink,
                   const std::function<void()>& begin_part) {
  RestoreScope restore(s);
  const nn::KeepStatistics statistics;
  const nn::KeepActivations activations;  // else reversible blocks show no gradients
  const nn::TapScope scope(sink);
  for (const data::Batch& part : micro_batches(batch, restore.parts())) {
    begin_part();
    backprop(s, part);
  }
  restore.end();
}

}  // namespace adagp::step
