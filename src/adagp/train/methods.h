#pragma once
// What a run does with its batches: a full step, a cheap step, and the schedule that mixes them.
// The trainer's loop is the same for all; a method is one of the small classes in methods.cpp.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adagp/train/gp_step.h"
#include "adagp/train/probes.h"
#include "adagp/train/session.h"

namespace adagp::train {

class Method {
 public:
  virtual ~Method() = default;

  // A BP batch. `probe`, when not null, is shown the gradients this method would have used instead.
  StepResult full_step(Session& session, const data::Batch& batch, Probes* probe = nullptr) {
    advance(session);
    return exact_step(session, batch, probe);
  }
  // Its two halves: what the host counts and sets, and the work of the device, which may be
  // recorded once and replayed.
  virtual void advance(Session& session) { (void)session; }
  virtual StepResult exact_step(Session& session, const data::Batch& batch, Probes* probe) = 0;
  // A GP batch.
  virtual StepResult cheap_step(Session& session, const data::Batch& batch) = 0;
  // False: a GP batch is not even loaded, and cheap_step gets an empty one.
  virtual bool cheap_needs_data() const { return true; }
  // Whether it puts other gradients in the place of the true ones, which a probe can measure.
  virtual bool substitutes() const { return false; }
  // False: cheap_step does nothing at all.
  virtual bool cheap_does_work() const { return true; }

  // For the checkpoint; the network, the optimizer and the predictor are saved by the trainer.
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  virtual void load_state(const std::map<std::string, at::Tensor>& state) { (void)state; }
};

struct MethodEntry {
  std::string name;
  std::string about;
  bool scheduled;  // false: every batch is a BP batch whatever the schedule says
  bool predicts;   // needs the predictor
  std::function<std::unique_ptr<Method>(Session&)> make;
};
const std::vector<MethodEntry>& method_table();
const MethodEntry& find_method(const std::string& name);  // throws UsageError with the nearest name

}  // namespace adagp::train
