// Selective backprop (Jiang et al. 2019): all examples of a GP batch are looked at, a part of them
// is learnt from.
//
// The chosen examples are forwarded again. Cutting them out of the first pass would save that, and
// is another gradient wherever batch norm ties the examples of a batch together: the backward pass
// of a norm needs all of its rows (docs/methods.md has what it would buy).

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "adagp/engine/method/backprop.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/method/choice.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {

Choice choose(const at::Tensor& losses, int64_t count, const std::string& rule) {
  if (rule == "top") return {std::get<1>(at::topk(losses, count)), {}};
  // Priority sampling (Duffield et al. 2007): with u uniform, the largest loss / u are kept and
  // stand for what is left out; `threshold` is the first of those.
  const at::Tensor size = losses.clamp_min(1e-6);
  const at::Tensor priority = size / at::rand_like(size).clamp_min(1e-12);
  if (count >= losses.numel())
    return {at::arange(losses.numel(), losses.options().dtype(at::kLong)), {}};
  const auto [values, order] = at::topk(priority, count + 1);
  const at::Tensor rows = order.narrow(0, 0, count);
  const at::Tensor threshold = values.narrow(0, count, 1);
  const at::Tensor kept = size.index_select(0, rows);
  // The step takes the mean over the chosen, the sum is to be that over all.
  const double scale = static_cast<double>(count) / static_cast<double>(losses.numel());
  return {rows, at::maximum(kept, threshold).div(kept).mul(scale)};
}

data::Batch cut_out(const data::Batch& batch, const Choice& choice) {
  data::Batch out;
  const auto rows_of = [&](const at::Tensor& x) {
    const at::Tensor rows = x.index_select(0, choice.rows);
    return x.dim() == 4 ? rows.contiguous(at::MemoryFormat::ChannelsLast) : rows;
  };
  for (const at::Tensor& x : batch.inputs) out.inputs.push_back(rows_of(x));
  for (const at::Tensor& x : batch.targets) out.targets.push_back(rows_of(x));
  if (batch.examples.defined()) out.examples = rows_of(batch.examples);
  if (batch.weights.defined()) out.weights = rows_of(batch.weights);
  if (choice.weights.defined()) {
    out.weights = out.weights.defined() ? out.weights * choice.weights : choice.weights;
  }
  return out;
}

namespace {

class Selective : public Backprop {
 public:
  explicit Selective(const step::Session& s) {
    require_alone(s);
    require_losses(s);
  }

  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    const at::Tensor losses = look(s, batch);
    const Choice choice = choose(losses, part_of(s, batch.size()),
                                 s.config.parts.get<rivals::SelectiveOptions>().rule);
    if (s.stored_losses.defined() && batch.examples.defined()) {
      s.stored_losses.index_copy_(0, batch.examples, losses);
    }
    return Backprop::cheap_step(s, cut_out(batch, choice));
  }

  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    if (!context.cheap()) {
      return Backprop::cost(s, costs, context, examples);
    }
    return costs.forward() * static_cast<double>(examples) +
           costs.backprop() * static_cast<double>(part_of(s, examples));
  }

 private:
  static int64_t part_of(const step::Session& s, int64_t examples) {
    const double part =
        static_cast<double>(examples) * s.config.parts.get<rivals::SelectiveOptions>().share;
    return std::clamp<int64_t>(std::llround(part), 1, examples);
  }
  static at::Tensor look(step::Session& s, const data::Batch& batch) {
    const at::NoGradGuard no_grad;
    const nn::KeepStatistics looking_only;
    const device::AutocastScope autocast(s.device, s.bf16);
    return s.task->losses(s.net->run(batch.inputs), batch.targets);
  }
};

}  // namespace

MethodEntry entries::selective() {
  return {.name = "selective",
          .about = "exact: in GP batches only the examples with the largest losses go backward",
          .cheap = Cheap::kScheduled,
          .make = maker<Selective>()};
}

}  // namespace adagp::method
