#include "adagp/train/gp_step.h"

#include <ATen/ATen.h>

#include "adagp/train/loss.h"
#include "adagp/train/precision.h"

namespace adagp::train {
namespace {

// The optimizer as a sink: each layer's gradient is applied as it is made and never stored.
class UpdateSink : public predictor::GradientSink {
 public:
  explicit UpdateSink(Session& session) : s_(session) {}

  bool wants(size_t layer) const override {
    return layer != s_.head || s_.config.head == "predicted";
  }
  void accept(size_t layer, const at::Tensor& gradient) override {
    s_.optimizer->step_one(s_.weight_slot[layer], gradient);
  }
  std::optional<Direct> direct() const override {
    return Direct{s_.optimizer.get(), &s_.weight_slot};
  }

 private:
  Session& s_;
};

// d loss / d logits of softmax cross-entropy with label smoothing e: (p - (1-e) onehot - e/classes)
// / B.
at::Tensor logits_gradient(const Session& s, const at::Tensor& logits, const at::Tensor& labels) {
  at::Tensor error = at::softmax(logits.to(at::kFloat), -1);
  const double e = s.config.label_smoothing;
  error.scatter_add_(1, labels.unsqueeze(1),
                     at::full({labels.size(0), 1}, -(1.0 - e), error.options()));
  if (e > 0) error.sub_(e / static_cast<double>(logits.size(1)));
  return error.div_(static_cast<double>(labels.size(0)));
}

// The classifier's own gradient needs no backward pass: its input and the error suffice.
void exact_head(Session& s, const at::Tensor& logits, const at::Tensor& labels) {
  const nn::WeightLayer& head = *s.layers[s.head];
  const at::Tensor error =
      logits_gradient(s, logits, labels).to(head.weight.scalar_type());              // [B, classes]
  const at::Tensor input = s.summaries->kept_input().to(head.weight.scalar_type());  // [B, in]
  s.optimizer->step_one(s.weight_slot[s.head], error.t().mm(input));
  if (head.bias.defined()) {
    s.optimizer->step_one(s.optimizer->index_of(head.bias), error.sum(0));
  }
}

}  // namespace

void predicted_gradients(Session& s, const predictor::Context& context,
                         predictor::GradientSink& sink) {
  s.predictor->predict(*s.summaries, context, sink);
}

StepResult gp_step(Session& s, const data::Batch& batch, const GradientSource& source) {
  const at::NoGradGuard no_grad;
  StepResult result;
  result.phase = schedule::Phase::kPredict;
  result.labels = batch.labels;
  s.summaries->begin();
  {
    const nn::TapScope taps(*s.summaries);
    const AutocastScope autocast(s.device, s.bf16());
    result.logits = s.net->forward(batch.images);
  }
  s.summaries->end();
  result.loss =
      take_loss(s.tally, s.config.label_smoothing, result.logits, batch.labels, false).value;

  UpdateSink sink(s);
  source(s, {result.logits, batch.labels}, sink);
  if (s.config.head == "exact") exact_head(s, result.logits, batch.labels);
  return result;
}

StepResult blind_step(Session& s, const GradientSource& source) {
  const at::NoGradGuard no_grad;
  UpdateSink sink(s);
  source(s, {}, sink);
  StepResult result;
  result.phase = schedule::Phase::kPredict;
  return result;
}

}  // namespace adagp::train
