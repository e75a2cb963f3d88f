#include "adagp/engine/predictor/other_input.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"

namespace adagp::predictor {
namespace {

using Fill = void (*)(const Summaries& seen, const Context& context, const at::Tensor& rows);

void fill_zeros(const Summaries&, const Context&, const at::Tensor& rows) {
  rows.zero_();
}

// From the default generator, whose state the checkpoint has.
void fill_noise(const Summaries& seen, const Context&, const at::Tensor& rows) {
  rows.normal_();
  for (size_t l = 0; l < seen.count(); ++l) {
    const at::Tensor own = seen.rows(l);
    rows.narrow(0, seen.offset(l), own.size(0)).mul_(own.square().mean().sqrt());
  }
}

void fill_labels(const Summaries&, const Context& context, const at::Tensor& rows) {
  const int64_t cells = rows.size(1);
  const at::Tensor& labels = context.targets.at(0);
  // More classes than cells share them in turn.
  const at::Tensor counts =
      at::zeros({cells}, rows.options())
          .index_add_(0, labels.remainder(cells),
                      at::ones({labels.numel()}, rows.options()).div_(labels.numel()));
  rows.copy_(counts.unsqueeze(0).expand_as(rows));
}

class OtherInput : public Predictor {
 public:
  OtherInput(std::unique_ptr<Predictor> inner, Fill fill,
             const std::vector<nn::WeightLayer*>& layers, SummaryForm form)
      : inner_(std::move(inner)), fill_(fill), shown_(layers, form.size, form.pooling) {}

  void advance(int64_t batch) override { inner_->advance(batch); }
  void follow_plateau(double share) override { inner_->follow_plateau(share); }
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override {
    fill_shown(summaries, context);
    return inner_->learn(shown_, gradients, context);
  }
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override {
    fill_shown(summaries, context);
    inner_->predict(shown_, context, sink);
  }
  std::map<std::string, at::Tensor> state() const override { return inner_->state(); }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    inner_->load_state(state);
  }
  int64_t parameter_count() const override { return inner_->parameter_count(); }
  double macs(int64_t examples) const override { return inner_->macs(examples); }
  double learning_macs(int64_t examples) const override { return inner_->learning_macs(examples); }

 private:
  void fill_shown(const Summaries& summaries, const Context& context) {
    const at::NoGradGuard no_grad;
    fill_(summaries, context, shown_.rows());
  }

  std::unique_ptr<Predictor> inner_;
  Fill fill_;
  Summaries shown_;
};

}  // namespace

std::unique_ptr<Predictor> with_other_input(std::unique_ptr<Predictor> inner,
                                            const std::string& input,
                                            const std::vector<nn::WeightLayer*>& layers,
                                            SummaryForm form) {
  if (inner->needs().any()) {
    throw UsageError("predictor.input = " + input +
                     " replaces summaries, and this kind of predictor looks at activations; use "
                     "predictor.kind = shared");
  }
  constexpr std::pair<const char*, Fill> kFills[] = {
      {"zeros", fill_zeros}, {"noise", fill_noise}, {"labels", fill_labels}};
  const Fill fill = core::find_named(kFills, input, "predictor.input: unknown input").second;
  return std::make_unique<OtherInput>(std::move(inner), fill, layers, form);
}

}  // namespace adagp::predictor
