// modules.signal = feedback: direct feedback alignment (Noekland 2016) for all batches. Every
// module but the last goes backward from e B: e is the error at the network's output, [B, classes],
// and B a fixed random matrix of the module. No gradient crosses a cut. With a module for each
// layer this is the published rule: delta = e B at a layer's output, times the slope of its own
// nonlinearity.

#include "adagp/rivals/method/modules_feedback.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/rng.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/task/loss.h"
#include "adagp/rivals/method/modules.h"

namespace adagp::method {
namespace {

class DirectFeedback : public Modules {
 public:
  explicit DirectFeedback(step::Session& s) : Modules(s) {
    require_classes(s);
    const int64_t classes = s.task->model_options(s.config).classes;
    const auto type = s.optimizer->params().at(0).value.scalar_type();
    for (const at::Tensor& shape : cuts()) {
      feedback_.push_back(random_feedback(s.config.seed, feedback_.size(), classes, shape.numel())
                              .to(at::device(s.device).dtype(type)));
    }
  }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    step::StepResult result;
    result.targets = batch.targets;
    models::Tensors hidden;  // what each module but the last made, with its graph
    models::Tensors x = batch.inputs;
    for (size_t m = 0; !last(m); ++m) {
      const models::Tensors made = run(s, m, x);
      hidden.push_back(made.at(0));
      x.clear();
      for (const at::Tensor& output : made) x.push_back(output.detach());
    }
    const models::Tensors made = run(s, count() - 1, x);
    const models::Tensors errors = errors_of(s, batch, made, result);
    backward_from(made, errors);
    for (size_t m = 0; m < hidden.size(); ++m) {
      const at::Tensor delta = errors[0].to(feedback_[m].scalar_type()).mm(feedback_[m]);
      const at::Tensor like = at::empty_like(hidden[m].detach());
      backward_from({hidden[m]}, {like.copy_(delta.view(hidden[m].sizes()))});
    }
    update(s);
    return result;
  }

  double cost(const step::Session&, const Costs& costs, const plan::BatchContext&,
              int64_t examples) const override {
    double sum = costs.forward();
    for (size_t m = 0; m < count(); ++m) {
      sum += costs.backward_of(first_block(m), first_block(m + 1));
      if (!last(m)) sum += static_cast<double>(feedback_[m].numel());
    }
    return sum * static_cast<double>(examples);
  }

 private:
  // The gradient of the loss by each output of the network; undefined where there is none.
  static models::Tensors errors_of(step::Session& s, const data::Batch& batch,
                                   const models::Tensors& outputs, step::StepResult& result) {
    const models::Tensors leaves = as_leaves(outputs);
    const task::Loss loss = s.loss(leaves, batch, true);
    task::backward(loss, leaves, 1, batch.weights);
    result.add(loss.value.detach(), 1);
    step::append(result.outputs, leaves);
    models::Tensors errors;
    for (const at::Tensor& leaf : leaves) errors.push_back(leaf.grad());
    return errors;
  }

  static void backward_from(const models::Tensors& outputs, const models::Tensors& gradients) {
    models::Tensors from, of;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!gradients[i].defined()) continue;
      from.push_back(outputs[i]);
      of.push_back(gradients[i]);
    }
    torch::autograd::backward(from, of);
  }

  std::vector<at::Tensor> feedback_;  // of all modules but the last, [classes, width]
};

}  // namespace

at::Tensor random_feedback(int64_t seed, size_t module, int64_t classes, int64_t width) {
  // On the CPU, so that every device has the same.
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(
      core::mix({static_cast<uint64_t>(seed), 0x6466615fULL, module}));
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  return at::empty({classes, width}, at::kFloat).uniform_(-bound, bound, generator);
}

std::unique_ptr<Method> make_feedback(step::Session& session) {
  return std::make_unique<DirectFeedback>(session);
}

}  // namespace adagp::method
