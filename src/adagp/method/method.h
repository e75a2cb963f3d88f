#pragma once
// What a run does with its batches: a full step, a cheap step, the schedule that mixes them, and
// where it applies a rule for which examples are in an epoch. The trainer's loop is the same for
// all; a method is one of the small classes in methods/.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/method/costs.h"
#include "adagp/method/probes.h"
#include "adagp/plan/selection.h"
#include "adagp/step/predicted_step.h"
#include "adagp/step/session.h"

namespace adagp::method {

// Where in the run a batch is.
struct BatchContext {
  int64_t epoch = 0, epochs = 1;
  schedule::Phase phase = schedule::Phase::kBackprop;
};

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
  // False: a GP batch is not even loaded, and cheap_step gets an empty one.
  virtual bool cheap_needs_data() const { return true; }
  // Whether it puts other gradients in the place of the true ones, which a probe can measure.
  virtual bool substitutes() const { return false; }
  // False: cheap_step does nothing at all.
  virtual bool cheap_does_work() const { return true; }

  // For a method that decides as it goes: the phase of the batch that begins now, and the end of
  // one, which took so many multiplications.
  virtual schedule::Phase begin_batch(step::Session& session, const BatchContext& planned) {
    (void)session;
    return planned.phase;
  }
  virtual void end_batch(step::Session& session, double macs) {
    (void)session;
    (void)macs;
  }
  // Steps of one phase that do different work have different numbers.
  virtual int64_t full_kind() const { return 0; }
  virtual int64_t cheap_kind() const { return 0; }
  // Kinds of cheap steps that come into use in the middle of the run, and the choice of one for a
  // rehearsal; -1 ends it.
  virtual int64_t cheap_kinds() const { return 0; }
  virtual void rehearse(int64_t kind) { (void)kind; }
  // What it has to say since the last call, for metrics.jsonl.
  virtual std::vector<nlohmann::json> take_records() { return {}; }

  // What steps see of a batch at this moment: a smaller copy of its images.
  virtual data::Batch shown(const data::Batch& batch, const BatchContext& moment) const {
    (void)moment;
    return batch;
  }
  // Examples of a batch, where they are not the configured number.
  virtual int64_t batch_size(const step::Session& session, const BatchContext& moment) const {
    (void)moment;
    return session.config.batch;
  }
  // What the learning rate is multiplied by at this moment.
  virtual double rate_factor(const step::Session& session, const BatchContext& moment) const {
    (void)session;
    (void)moment;
    return 1;
  }
  // Whether batch_size() is ever another.
  virtual bool resizes_batches() const { return false; }
  // Blocks at the network's beginning that a full step leaves alone at this moment.
  virtual int64_t frozen_blocks(const BatchContext& moment) const {
    (void)moment;
    return 0;
  }
  // Epochs at which it begins to do something else, in a run of so many epochs: those that follow
  // from the run's length. In no order; they may lie beyond the run.
  virtual std::vector<int64_t> turns(int64_t epochs) const {
    (void)epochs;
    return {};
  }
  // The sides of images it may show the network beside the data's own.
  virtual std::vector<int64_t> sides() const { return {}; }

  // Multiplications of a batch of this many examples, and of other work since the last call.
  virtual double cost(const step::Session& session, const Costs& costs, const BatchContext& moment,
                      int64_t examples) const;
  virtual double take_other_cost(const Costs& costs) {
    (void)costs;
    return 0;
  }

  // For the checkpoint; the network, the optimizer and the predictor are saved by the trainer.
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  virtual void load_state(const std::map<std::string, at::Tensor>& state) { (void)state; }
};

// Where a method's cheap batches come from.
enum class Cheap {
  kNone,       // every batch is a BP batch whatever the schedule says
  kScheduled,  // the schedule says which they are
  kDecided,    // the method says, as it goes
};

// One line of the table of methods: a kind of step, or a rule for the examples of an epoch.
struct MethodEntry {
  std::string name;
  std::string about;
  Cheap cheap = Cheap::kNone;
  bool predicts = false;  // needs the predictor
  // Keys and groups of keys ("low_res.") that only the methods which name them read, with spaces
  // between. Beside them scheduled methods read `schedule`, those that predict `predictor.`.
  std::string reads = "";
  std::function<std::unique_ptr<Method>(step::Session&)> make = {};
  plan::SelectionRule select = {};  // a rule; its steps are those of the method it is joined with
};
const std::vector<MethodEntry>& method_table();
// "adagp", "stored-loss", or a step and a rule joined: "progressive+stored-loss". Throws UsageError
// with the nearest name.
MethodEntry find_method(const std::string& name);
// Throw UsageError for what the session's method cannot be used with: several processes, tasks
// without losses by example.
void require_alone(const step::Session& session);
void require_losses(const step::Session& session);
// Whether its steps, or one of those that auto may choose, predict.
bool needs_predictor(const config::RunConfig& config);

}  // namespace adagp::method
