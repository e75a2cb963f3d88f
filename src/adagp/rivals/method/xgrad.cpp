// XGrad (Guan et al. 2023): the gradient is taken where the moments say the weights are going,
//   w^ = w - factor * lr * v,   and the optimizer's usual step is then made from w.
// For SGD with factor = momentum this is Nesterov's momentum in its first form, so that the control
// of this method is optim.nesterov = true.

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

class XGrad : public Backprop {
 public:
  explicit XGrad(const step::Session& s)
      : factor_(s.config.parts.get<rivals::XGradOptions>().factor) {
    if (s.config.optim.name == "sgd" && s.config.optim.momentum == 0) {
      throw UsageError(
          "optim.momentum = 0: method xgrad looks ahead along the momentum; use a momentum, as "
          "0.9, or method bp");
    }
  }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    if (factor_ == 0) return step::backprop_step(s, batch);
    std::vector<at::Tensor> weights, before;
    for (const auto& param : s.optimizer->params()) {
      weights.push_back(param.value.detach());
      before.push_back(weights.back().clone());
    }
    s.optimizer->look_ahead(factor_);
    const step::StepResult result = step::backprop(s, batch);
    {
      const at::NoGradGuard no_grad;
      at::_foreach_copy_(weights, before);
      s.optimizer->refresh_bf16_copies();  // of what has no gradient and takes no step
    }
    step::update(s);
    return result;
  }

 private:
  double factor_;
};

}  // namespace

MethodEntry entries::xgrad() {
  return {.name = "xgrad",
          .about = "gradients are taken where the momentum leads, the step is made from here",
          .standing = Standing::kPublished,
          .make = maker<XGrad>()};
}

}  // namespace adagp::method
