#pragma once
// Modules that learn from the true gradient some ticks late. In a tick (one batch of the trainer)
// every module runs one forward pass and one backward pass, and all take one optimizer step.
//
//   locked    the newest batch runs forward through all modules, as in backprop; module k goes
//             backward for the batch of K - 1 - k ticks ago                  (DDG, features replay)
//   unlocked  a module takes what the one before made in the last tick, so that nobody waits:
//             module k goes backward for its input of 2 (K - 1 - k) ticks ago                 (FDG)
//
// with k = 0 for the module that sees the images. In both, a module's gradient comes from the
// module behind it, which made it in the last tick. In the first ticks some have nothing to do.
//
// With a link (parallel/module_messages.h) this process has one of the modules, and its neighbours'
// tensors come as messages. Nothing is computed otherwise, so that the weights are those of one
// process.

#include <deque>

#include "adagp/engine/io/tensors.h"
#include "adagp/rivals/method/modules.h"
#include "adagp/rivals/parallel/module_messages.h"
#include "adagp/rivals/step/fast_widths.h"

namespace adagp::method {

// What is kept of a module's forward pass until its backward pass.
struct ModulePass {
  models::Tensors inputs;                // leaves where they have gradients
  models::Tensors outputs = {};          // with their graph; empty: there is none
  std::vector<at::Tensor> weights = {};  // by parameter of the module, as they were; may be empty
  io::TensorMap random = {};             // of the generators, before it
  step::FastWidths::Moment fast = {};    // precision = fast: how it rounds
};

// Of this process's generators, without the process's name: a checkpoint may be taken over by
// another number of processes.
io::TensorMap random_state(const step::Session& session);
void set_random_state(const step::Session& session, const io::TensorMap& state);

class Ticks : public Modules {
 public:
  explicit Ticks(step::Session& session);

  // Graphs outlive the step they were made in.
  Traits traits() const override { return {.recordable = false}; }
  step::StepResult exact_step(step::Session& session, const data::Batch& batch,
                              Probes* probe) override;
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;

 protected:
  // Ticks between a module's forward pass and its backward pass.
  size_t delay(size_t module) const;

  // What the next module gets; whatever the backward pass needs goes into `pass`, which has the
  // inputs.
  virtual models::Tensors forward(step::Session& session, size_t module, ModulePass& pass) = 0;
  // Puts gradients into the module's parameters and into the leaves of pass.inputs. `gradients`: of
  // the outputs that have any.
  virtual void backward(step::Session& session, size_t module, ModulePass& pass,
                        const models::Tensors& gradients) = 0;
  // A pass that comes from a checkpoint gets back what no file can hold.
  virtual void rebuild(step::Session& session, size_t module, ModulePass& pass) = 0;

 private:
  bool here(size_t module) const { return link_ == nullptr || link_->module() == module; }
  void take_inputs();
  void forward_all(step::Session& session);
  step::StepResult backward_all(step::Session& session);
  void rebuild_all(step::Session& session);

  std::unique_ptr<parallel::ModuleMessages> link_;  // null: all modules are here
  bool unlocked_;
  step::FastWidths* fast_;  // null unless the precision is fast
  double shrink_;
  bool loaded_ = false;  // the passes still wait for rebuild()
  std::vector<std::string> param_names_;
  std::vector<models::Tensors> inbox_;          // inputs of each module's next forward pass
  std::vector<models::Tensors> gradients_;      // of each module's outputs, for the next backward
  std::vector<std::deque<ModulePass>> passes_;  // by module, the oldest first
  std::deque<data::Batch> targets_;             // without inputs, of batches on their way
};

}  // namespace adagp::method
