#pragma once
// What a run does with its batches: a full step, a cheap step, and how its batches differ from the
// usual ones. The trainer's loop is the same for all; a method is one of the small classes of this
// folder, and has its entry in its own file and a word in entries.h.

#include <map>
#include <string>

#include "adagp/base/plan/batch_plan.h"
#include "adagp/engine/method/probes.h"
#include "adagp/engine/method/step_chooser.h"
#include "adagp/engine/step/session.h"

namespace adagp::method {

class Method {
 public:
  virtual ~Method() = default;

  // A BP batch. `probe`, when not null, is shown the gradients this method would have used instead.
  step::StepResult full_step(step::Session& session, const data::Batch& batch,
                             Probes* probe = nullptr) {
    advance(session);
    return exact_step(session, batch, probe);
  }
  // Its two halves: what the host counts and sets, and the work of the device, which may be
  // recorded once and replayed.
  virtual void advance(step::Session& session) { (void)session; }
  virtual step::StepResult exact_step(step::Session& session, const data::Batch& batch,
                                      Probes* probe) = 0;
  // A GP batch.
  virtual step::StepResult cheap_step(step::Session& session, const data::Batch& batch) = 0;

  struct Traits {
    bool cheap_needs_data = true;  // false: a GP batch is not even loaded; cheap_step gets none
    bool cheap_does_work = true;   // false: cheap_step does nothing at all
    // Whether it puts other gradients in the place of the true ones, which a probe can measure.
    bool substitutes = false;
    // Whether a step finds its tensors where they were in the step before, so that a GPU may replay
    // a recording of it.
    bool recordable = true;
  };
  virtual Traits traits() const { return {}; }

  // Sizes, rates and frozen blocks, where they are not the configured ones.
  virtual const plan::BatchPlan& batch_plan() const;
  // What steps see of a batch: a smaller copy of its images.
  virtual data::Batch transform_batch(const data::Batch& batch,
                                      const plan::BatchContext& context) const {
    (void)context;
    return batch;
  }
  // Null: the schedule says which batches are BP and which GP.
  virtual StepChooser* step_chooser() { return nullptr; }

  // Multiplications of a batch of this many examples.
  virtual double cost(const step::Session& session, const Costs& costs,
                      const plan::BatchContext& context, int64_t examples) const;

  // For the checkpoint; the network, the optimizer and the predictor are saved by the trainer.
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  virtual void load_state(const std::map<std::string, at::Tensor>& state) { (void)state; }
};

// Throw UsageError for what the session's method cannot be used with: several processes, stages of
// a pipeline, tasks without losses by example.
void require_alone(const step::Session& session);
void require_whole_network(const step::Session& session);
void require_losses(const step::Session& session);
// How many blocks at the network's beginning may be left alone: not all of them. `key` is named.
int64_t checked_blocks(const step::Session& session, int64_t blocks, const std::string& key);

// A method's entry of a checkpoint; throws DataError when it is missing.
const at::Tensor& saved(const std::map<std::string, at::Tensor>& state, const std::string& name);

}  // namespace adagp::method
