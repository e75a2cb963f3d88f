#include "adagp/step/observe.h"

#include <utility>

#include "adagp/nn/batch_norm.h"
#include "adagp/nn/reversible.h"
#include "adagp/step/exact_step.h"
#include "adagp/step/generators.h"
#include "adagp/step/micro_batches.h"
#include "adagp/step/team.h"

namespace adagp::step {
namespace {

// Weights do not move, and norms leave their statistics alone. Nothing is written to tensors that
// graphs of other batches, which a method may have under way, have saved.
class RestoreScope {
 public:
  explicit RestoreScope(Session& s)
      : session_(s),
        random_(generator_state(*s.team, s.device)),
        tally_(s.tally.state()),
        losses_(std::exchange(s.stored_losses, {})),
        first_block_(std::exchange(s.first_block, 0)),
        parts_(std::exchange(s.config.accumulate, 1)) {}
  ~RestoreScope() {
    session_.optimizer->clear_gradients();
    session_.config.accumulate = parts_;
    session_.first_block = first_block_;
    session_.stored_losses = losses_;
    session_.tally.load_state(tally_);
    load_generator_state(*session_.team, session_.device, random_);
  }
  RestoreScope(const RestoreScope&) = delete;
  RestoreScope& operator=(const RestoreScope&) = delete;

  int64_t parts() const { return parts_; }

 private:
  Session& session_;
  io::TensorMap random_;
  std::vector<double> tally_;
  at::Tensor losses_;
  int64_t first_block_, parts_;
};

}  // namespace

void observe_batch(Session& s, const data::Batch& batch, nn::TapSink& sink,
                   const std::function<void()>& begin_part) {
  const RestoreScope restore(s);
  const nn::KeepStatistics statistics;
  const nn::KeepActivations activations;  // else reversible blocks show no gradients
  const nn::TapScope scope(sink);
  for (const data::Batch& part : micro_batches(batch, restore.parts())) {
    begin_part();
    backprop(s, part);
  }
}

}  // namespace adagp::step
