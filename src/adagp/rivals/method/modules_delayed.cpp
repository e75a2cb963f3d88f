// modules.signal = delayed: a module backpropagates the graph of an older batch.
//
// The gradient is that of the published formula: activations and weights are both of the time of
// the forward pass. The released code of DDG changes weights under the graph's feet and so mixes
// old activations with new weights. Here a forward pass runs on a copy of the weights, which the
// graph keeps. The parameters stay where they are: recorded steps of evaluation know their memory.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/step/restoration.h"
#include "adagp/rivals/method/modules_ticks.h"

namespace adagp::method {
namespace {

// What the graph of a forward pass has for this parameter.
const at::Tensor& leaf_of(const optim::Param& param) {
  return param.bf16_copy.defined() ? param.bf16_copy : param.value;
}

class Delayed : public Ticks {
 public:
  using Ticks::Ticks;

 protected:
  models::Tensors forward(step::Session& s, size_t module, ModulePass& pass) override {
    if (delay(module) > 0) {
      for (const size_t p : params(module)) {
        pass.weights.push_back(leaf_of(s.optimizer->params()[p]).variable_data().clone());
      }
    }
    OldWeights now(s, params(module), pass.weights);
    pass.outputs = run(s, module, pass.inputs);
    now.end();
    return pass.outputs;
  }

  void backward(step::Session& s, size_t module, ModulePass& pass,
                const models::Tensors& gradients) override {
    OldWeights then(s, params(module), pass.weights);
    torch::autograd::backward(models::differentiable(pass.outputs), gradients);
    then.end();
  }

  void rebuild(step::Session& s, size_t module, ModulePass& pass) override {
    // Copies in the parameters' memory layout.
    for (size_t i = 0; i < pass.weights.size(); ++i) {
      const at::Tensor& like = leaf_of(s.optimizer->params()[params(module)[i]]);
      pass.weights[i] = at::empty_like(like.detach()).copy_(pass.weights[i]);
    }
    const nn::KeepStatistics kept;
    OldWeights then(s, params(module), pass.weights);
    pass.outputs = run(s, module, pass.inputs);
    then.end();
  }

 private:
  // Until end() the parameters have these copies of a pass as their data.
  class OldWeights {
   public:
    OldWeights(step::Session& s, const std::vector<size_t>& params,
               const std::vector<at::Tensor>& weights)
        : restoration_(s, "the weights after a pass with older ones", [this] {
            for (size_t i = 0; i < now_.size(); ++i) leaves_[i].set_data(now_[i]);
          }) {
      for (size_t i = 0; i < weights.size(); ++i) {
        leaves_.push_back(leaf_of(s.optimizer->params()[params[i]]));
        now_.push_back(leaves_.back().variable_data());
        leaves_.back().set_data(weights[i]);
      }
    }
    OldWeights(const OldWeights&) = delete;
    OldWeights& operator=(const OldWeights&) = delete;
    void end() { restoration_.now(); }

   private:
    std::vector<at::Tensor> leaves_, now_;
    step::Restoration restoration_;  // reads the others
  };
};

}  // namespace

std::unique_ptr<Method> make_delayed(step::Session& session) {
  return std::make_unique<Delayed>(session);
}

}  // namespace adagp::method
