#include "adagp/engine/nn/reversible.h"

#include <optional>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/kept_values.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/engine/nn/tap.h"
#include "adagp/gpu/device/autocast.h"

namespace adagp::nn {
namespace {

thread_local bool keep_activations = false;

// The second run of a layer is none for those who count uses or summarise outputs.
struct DeafSink : TapSink {
  void on_output(const WeightLayer&, const at::Tensor&, const at::Tensor&) override {}
};

class UntappedScope {
 public:
  UntappedScope() {
    if (active_sink() != nullptr) scope_.emplace(deaf_);
  }

 private:
  DeafSink deaf_;
  std::optional<TapScope> scope_;
};

Halves forward_through(const std::vector<ReversibleBlock>& blocks, Halves x) {
  for (const ReversibleBlock& block : blocks) {
    x.second = add_(block.f1(x.first), x.second);
    x.first = add_(block.f2(x.second), x.first);
  }
  return x;
}

bool autocast_is_on(const at::Tensor& x) {
  return !x.is_meta() && at::autocast::is_autocast_enabled(x.device().type());
}

struct StackContext : torch::CustomClassHolder {
  StackContext(ReversibleBlocks all, bool cast) : blocks(std::move(all)), autocast(cast) {}
  ReversibleBlocks blocks;
  bool autocast;
};

// f(x), and by x.grad() afterwards its gradient for that of f(x); those of weights go to them.
class LocalPass {
 public:
  LocalPass(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& at,
            bool autocast)
      : input_(at.detach().requires_grad_()) {
    const at::AutoGradMode graph(true);
    const device::AutocastScope scope(at.device(), autocast);
    output_ = f(input_);
  }
  at::Tensor value() const { return output_.detach(); }
  at::Tensor gradient(const at::Tensor& of_output) {
    torch::autograd::backward({output_}, {of_output.to(output_.scalar_type())});
    output_.reset();
    return input_.grad();
  }

 private:
  at::Tensor input_, output_;
};

struct ReversibleStack : torch::autograd::Function<ReversibleStack> {
  static torch::autograd::tensor_list forward(torch::autograd::AutogradContext* ctx,
                                              const at::Tensor& x1, const at::Tensor& x2,
                                              const ReversibleBlocks& blocks, KeptValues* kept) {
    const Halves y = forward_through(*blocks, {x1, x2});
    if (kept != nullptr) {
      ctx->save_for_backward({kept->keep(y.first), kept->keep(y.second)});
    } else {
      ctx->save_for_backward({y.first, y.second});
    }
    ctx->saved_data["stack"] =
        c10::IValue::make_capsule(c10::make_intrusive<StackContext>(blocks, autocast_is_on(x1)));
    return {y.first, y.second};
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const KeepStatistics keep;
    const UntappedScope untapped;
    const KeptValuesScope as_they_are(nullptr);
    const auto saved = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["stack"].toCapsule();
    const auto& stack = static_cast<const StackContext&>(*capsule);
    at::Tensor y1 = saved[0].detach(), y2 = saved[1].detach();
    at::Tensor dy1 = gradients[0], dy2 = gradients[1];
    if (!dy1.defined()) dy1 = at::zeros_like(y1);
    if (!dy2.defined()) dy2 = at::zeros_like(y2);
    for (auto block = stack.blocks->rbegin(); block != stack.blocks->rend(); ++block) {
      LocalPass second(block->f2, y2, stack.autocast);
      y1 = y1 - second.value();  // x1
      dy2 = dy2 + second.gradient(dy1);
      LocalPass first(block->f1, y1, stack.autocast);
      y2 = y2 - first.value();  // x2
      dy1 = dy1 + first.gradient(dy2);
    }
    return {dy1, dy2, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

KeepActivations::KeepActivations() : before_(std::exchange(keep_activations, true)) {}
KeepActivations::~KeepActivations() {
  keep_activations = before_;
}

Halves reversible(const ReversibleBlocks& blocks, const Halves& x) {
  if (!at::GradMode::is_enabled() || keep_activations || x.first.is_meta()) {
    return forward_through(*blocks, x);
  }
  // Weights have gradients even where nothing before them has: they hang on the input's graph.
  const at::Tensor first = x.first.requires_grad() || x.second.requires_grad()
                               ? x.first
                               : x.first.detach().requires_grad_();
  const auto y = ReversibleStack::apply(first, x.second, blocks, kept_values());
  return {y[0], y[1]};
}

Halves inverse(const std::vector<ReversibleBlock>& blocks, const Halves& y) {
  const KeepStatistics keep;
  const UntappedScope untapped;
  Halves x = y;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    x.first = x.first - block->f2(x.second);
    x.second = x.second - block->f1(x.first);
  }
  return x;
}

}  // namespace adagp::nn
