#pragma once
// The network cut into K parts ("modules") that learn from signals of their own, so that none
// waits for a backward pass through the others. In one process they run one after the other: what
// is measured is what the signals do to the accuracy. With --parallel pipeline=decoupled each of
// those that learn from older gradients has a process of its own.

#include <functional>
#include <vector>

#include "adagp/engine/method/backprop.h"

namespace adagp::method {

class Modules : public Backprop {
 public:
  // Cuts at borders of blocks, balanced by multiplications. Throws UsageError for a network that
  // cannot be cut so often, and for what the signals do not know: several processes, micro-batches.
  explicit Modules(step::Session& session);

 protected:
  size_t count() const { return first_.size() - 1; }
  bool last(size_t module) const { return module + 1 == count(); }
  // The first block of a module; of module K: the number of blocks.
  int64_t first_block(size_t module) const { return static_cast<int64_t>(first_[module]); }
  // The first tensor that crosses each cut, of one example: shapes alone.
  const std::vector<at::Tensor>& cuts() const { return cuts_; }
  // Places of a module's parameters in the session's optimizer.
  const std::vector<size_t>& params(size_t module) const { return params_[module]; }

  models::Tensors run(step::Session& session, size_t module, const models::Tensors& inputs) const;

  // The gradient of the loss by what a module made, as its signal has it.
  using Signal = std::function<at::Tensor(size_t module, const at::Tensor& made)>;
  // Each module but the last goes backward from its signal before the next one runs; the last goes
  // backward from the loss. Returns what crossed each cut: its gradient is what the module behind
  // made of its own signal.
  models::Tensors backward_at_once(step::Session& session, const data::Batch& batch,
                                   const Signal& signal, step::StepResult& result) const;

 private:
  std::vector<size_t> first_;
  std::vector<std::vector<size_t>> params_;
  std::vector<at::Tensor> cuts_;
};

// The outputs of a module as the next one takes them: without the graph behind them, and as leaves
// where they have gradients.
models::Tensors as_leaves(const models::Tensors& outputs);
// Throws UsageError for a task without classes.
void require_classes(const step::Session& session);

// One for each value of modules.signal.
std::unique_ptr<Method> make_auxiliary(step::Session& session);
std::unique_ptr<Method> make_delayed(step::Session& session);
std::unique_ptr<Method> make_replay(step::Session& session);
std::unique_ptr<Method> make_critic(step::Session& session);
std::unique_ptr<Method> make_synthetic(step::Session& session);
std::unique_ptr<Method> make_feedback(step::Session& session);

}  // namespace adagp::method
