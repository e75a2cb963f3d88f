// How a Trainer runs its steps: recorded where they can be, one recording for each kind.

#include "adagp/step/generators.h"
#include "adagp/step/out_of_memory.h"
#include "adagp/step/undo.h"
#include "adagp/train/trainer.h"

namespace adagp::train {

// Messages to other processes cannot be recorded, here and below.
step::StepResult Trainer::full_batch(const data::Batch& batch) {
  const auto turn = method_->substitutes() ? probes_.turn(bp_batches_) : method::Probes::Turn();
  probes_.begin(turn);
  method_->advance(session_);
  const auto step = [&](const data::Batch& given) {
    return method_->exact_step(session_, given, turn.any() ? &probes_ : nullptr);
  };
  step::StepGraph& graph =
      full_graphs_
          .try_emplace({turn, session_.first_block, method_->full_kind()},
                       turn.any() ? "probing BP" : "BP", session_.config.graphs && !session_.team)
          .first->second;
  step::StepResult result = step::run_in_memory(session_, "BP", batch, step,
                                                [&] { return graph.run(session_, batch, step); });
  if (turn.any()) probes_.end();
  return result;
}

step::StepResult Trainer::cheap_batch(const data::Batch& batch) {
  const auto step = [&](const data::Batch& given) { return method_->cheap_step(session_, given); };
  if (!method_->cheap_does_work()) return step(batch);
  step::StepGraph& graph =
      cheap_graphs_
          .try_emplace(method_->cheap_kind(), "GP", session_.config.graphs && !session_.team)
          .first->second;
  return step::run_in_memory(session_, "GP", batch, step,
                             [&] { return graph.run(session_, batch, step); });
}

void Trainer::rehearse() {
  if (!session_.device.is_cuda() || method_->cheap_kinds() == 0) return;
  constexpr int kTimes = 3;  // twice as it is, once recorded
  const step::UndoScope undo(session_);
  const io::TensorMap random = step::generator_state(team(), session_.device);
  io::TensorMap own = method_->state();
  for (auto& [name, tensor] : own) tensor = tensor.clone();
  const std::vector<double> tally = session_.tally.state();
  const method::BatchContext moment{0, session_.config.epochs, schedule::Phase::kPredict};
  for (int64_t kind = 0; kind < method_->cheap_kinds(); ++kind) {
    method_->rehearse(kind);
    for (int i = 0; i < kTimes && method_->cheap_does_work(); ++i) {
      data::Batch batch;
      if (method_->cheap_needs_data()) {
        batch = method_->shown(
            session_.task->example(session_.config, session_.config.batch, session_.device),
            moment);
      }
      cheap_batch(batch);
    }
  }
  method_->rehearse(-1);
  session_.tally.load_state(tally);
  method_->load_state(own);
  step::load_generator_state(team(), session_.device, random);
}

}  // namespace adagp::train
