// modules.signal = auxiliary: decoupled greedy learning (Belilovsky et al. 2020). Every module but
// the last has a small classifier behind it and learns from that classifier's loss. No gradient
// crosses a cut.

#include <ATen/ATen.h>

#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/task/loss.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/rivals/method/auxiliary_head.h"

namespace adagp::method {
namespace {

class Auxiliary : public Modules {
 public:
  explicit Auxiliary(step::Session& s)
      : Modules(s),
        heads_(s, cuts(), s.config.optim, make_auxiliary_head),
        unused_(s.device, device::has_kernels(s.device)) {}

  void advance(step::Session& s) override { heads_.set_lr(s.lr); }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    step::StepResult result;
    result.targets = batch.targets;
    models::Tensors x = batch.inputs;
    for (size_t m = 0; m < count(); ++m) {
      const models::Tensors made = run(s, m, x);
      const models::Tensors scores = last(m) ? made : models::Tensors{heads_.run(s, m, made.at(0))};
      const task::Loss loss = last(m) ? s.loss(made, batch, true)
                                      : task::softmax_loss(unused_, s.config.label_smoothing,
                                                           scores[0], batch.labels(), {});
      task::backward(loss, scores, 1, batch.weights);
      if (last(m)) {
        result.add(loss.value.detach(), 1);
        step::append(result.outputs, made);
      }
      x.clear();
      for (const at::Tensor& output : made) x.push_back(output.detach());
    }
    update(s);
    heads_.update(s);
    return result;
  }

  double cost(const step::Session&, const Costs& costs, const plan::BatchContext&,
              int64_t examples) const override {
    double sum = costs.forward();
    for (size_t m = 0; m < count(); ++m) {
      sum += costs.backward_of(first_block(m), first_block(m + 1));
      if (!last(m)) sum += heads_.macs(m) + heads_.backward_macs(m);
    }
    return sum * static_cast<double>(examples);
  }

  std::map<std::string, at::Tensor> state() const override { return heads_.state(); }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    heads_.load_state(state);
  }

 private:
  CutNetworks heads_;            // of all modules but the last
  task::RunningMetrics unused_;  // their figures are nobody's
};

}  // namespace

std::unique_ptr<Method> make_auxiliary(step::Session& session) {
  return std::make_unique<Auxiliary>(session);
}

}  // namespace adagp::method
