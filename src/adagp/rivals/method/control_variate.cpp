// Predictions as a control variate: unbiased whatever the predictor says.
//
// The batch is cut at random into N equal parts. All of them are predicted for, the first is also
// backpropagated:  G = mean of h over the parts + g(first) - h(first).  Every part is equally
// likely to be any of them, so h(first) and the mean of h have the same expectation and cancel:
// what is left is the expectation of g, whether h is linear in the batch or not. Forwarding the
// parts one by one instead of the whole is what makes this hold, and it costs nothing more. (In
// networks with batch norm "g" is the gradient of a part by its own statistics, which are moved by
// each part.)
//
// Everything that is not a tapped weight takes g(first). The nearer h is to g, the less does G vary
// beside a backward pass over the first part alone.

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/adagp.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/team.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/method/choice.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

// Adds predictions to the gradients that a backward pass left.
class AddSink : public predictor::GradientSink {
 public:
  AddSink(const step::Session& session, double scale) : layers_(session.layers), scale_(scale) {}
  void accept(size_t layer, const at::Tensor& gradient) override {
    layers_[layer]->weight.mutable_grad().add_(gradient, scale_);
  }

 private:
  const std::vector<nn::WeightLayer*>& layers_;
  double scale_;
};

class ControlVariate : public AdaGp {
 public:
  explicit ControlVariate(const step::Session& s) : parts_(count_of(s)) {
    if (s.head != step::Head::kPredicted) {
      throw UsageError("head = " + s.config.head +
                       ": method control-variate has an unbiased gradient for the head too; use "
                       "head = predicted");
    }
    if (!s.team->solo() || s.config.accumulate > 1) {
      throw UsageError(
          "method control-variate cuts batches itself and trains in one process; leave out "
          "--parallel and accumulate");
    }
  }

  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    const data::Batch shuffled = in_random_order(batch);
    const std::vector<data::Batch> parts = step::micro_batches(shuffled, parts_);
    const double share = 1.0 / static_cast<double>(parts.size());

    step::StepResult all;
    all.phase = schedule::Phase::kPredict;
    all.targets = shuffled.targets;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool first = i == 0;
      const step::StepResult part =
          first ? backprop(s, parts[i], true) : step::predicted_forward(s, parts[i]);
      const at::NoGradGuard no_grad;
      if (first) step::gather_bf16_gradients(s);
      AddSink sink(s, first ? share - 1 : share);
      source(s, step::context_of(s, part, parts[i].weights), sink);
      all.add(part.loss, share);
      step::append(all.outputs, part.outputs);
    }
    if (s.activations) s.activations->clear();
    update(s);
    return all;
  }

  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    if (!context.cheap()) return AdaGp::cost(s, costs, context, examples);
    const auto part = static_cast<double>(examples) / static_cast<double>(parts_);
    return costs.forward() * static_cast<double>(examples) + costs.backward() * part +
           static_cast<double>(parts_) * s.predictor->macs(examples / parts_);
  }

 private:
  static int64_t count_of(const step::Session& s) {
    const double share = s.config.parts.get<rivals::ControlVariateOptions>().share;
    const int64_t count = share > 0 ? std::llround(1 / share) : 0;
    constexpr double kRounding = 1e-3;  // of a third written as 0.3333
    if (count < 2 || std::abs(share * static_cast<double>(count) - 1) > kRounding) {
      throw UsageError(
          core::cat("control_variate.share: ", share,
                    ", expected 1/2, 1/3, 1/4, ...: the batch is cut into equal parts"));
    }
    if (s.config.batch % count != 0) {
      throw UsageError(core::cat("control_variate.share: ", share, " cuts the batch into ", count,
                                 " parts, which do not divide batch = ", s.config.batch));
    }
    return count;
  }
  static data::Batch in_random_order(const data::Batch& batch) {
    const at::Tensor& like = batch.inputs.at(0);
    const at::Tensor keys = at::rand({batch.size()}, like.options().dtype(at::kFloat));
    return cut_out(batch, {keys.argsort(), {}});
  }

  int64_t parts_;
};

}  // namespace

MethodEntry entries::control_variate() {
  return {.name = "control-variate",
          .about =
              "unbiased: all of a GP batch is predicted for, a part of it corrects the predictions",
          .cheap = Cheap::kScheduled,
          .predicts = true,
          .make = maker<ControlVariate>()};
}

}  // namespace adagp::method
