// modules.signal = replay: features replay (Huo et al. 2018). A module keeps only its inputs. Its
// backward pass first runs forward again on the old input with the weights of today.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/rivals/method/modules_ticks.h"

namespace adagp::method {
namespace {

class Replay : public Ticks {
 public:
  using Ticks::Ticks;

  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    return Ticks::cost(s, costs, context, examples) +
           costs.forward_of(0, first_block(count() - 1)) * static_cast<double>(examples);
  }

 protected:
  models::Tensors forward(step::Session& s, size_t module, ModulePass& pass) override {
    if (delay(module) == 0) return pass.outputs = run(s, module, pass.inputs);
    const at::NoGradGuard no_grad;
    models::Tensors outputs = run(s, module, pass.inputs);
    // Without a graph nothing tells which of them will have gradients: all may.
    for (at::Tensor& output : outputs) {
      if (output.is_floating_point()) output = output.detach().requires_grad_();
    }
    return outputs;
  }

  void backward(step::Session& s, size_t module, ModulePass& pass,
                const models::Tensors& gradients) override {
    models::Tensors outputs;
    {
      // The first pass has moved the statistics and drawn the random numbers.
      const nn::KeepStatistics kept;
      const io::TensorMap now = random_state(s);
      set_random_state(s, pass.random);
      outputs = run(s, module, pass.inputs);
      set_random_state(s, now);
    }
    models::Tensors from, with;
    size_t next = 0;
    for (const at::Tensor& output : outputs) {
      if (!output.is_floating_point()) continue;
      const at::Tensor& gradient = gradients.at(next++);
      if (!output.requires_grad()) continue;
      from.push_back(output);
      with.push_back(gradient);
    }
    torch::autograd::backward(from, with);
  }

  void rebuild(step::Session&, size_t, ModulePass&) override {}  // there is no graph
};

}  // namespace

std::unique_ptr<Method> make_replay(step::Session& session) {
  return std::make_unique<Replay>(session);
}

}  // namespace adagp::method
