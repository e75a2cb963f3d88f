#include "adagp/engine/nn/conv_branch.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/gradient_queue.h"

namespace adagp::nn {
namespace {

bool in_channels_last_order(const at::Tensor& x) {
  return x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

// A map as the rows that its positions are.
at::Tensor as_rows(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

// Whether nobody else will read the gradient or has a view of it.
bool may_be_overwritten(const at::Tensor& gradient) {
  return !at::GradMode::is_enabled() && gradient.use_count() == 1 &&
         gradient.storage().use_count() == 1;
}

at::Tensor conv_1x1_gradient(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                             bool of_x) {
  auto found = at::convolution_backward(dy, x, weight, at::OptionalIntArrayRef(), {1, 1}, {0, 0},
                                        {1, 1}, false, {0, 0}, 1, {of_x, !of_x, false});
  return of_x ? std::get<0>(found) : std::get<1>(found);
}

class ConvBranchFunction : public torch::autograd::Function<ConvBranchFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx,
                                                const at::Tensor& x, const at::Tensor& weight,
                                                const QueuePtr& queue) {
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({x, weight});
    ctx->saved_data["queue"] = kept_queue(queue);
    return {at::conv2d(x, weight), x.variable_data()};
  }

  // By reference: a copy would be one more that holds the gradients.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor &dy = gradients[0], &rest = gradients[1];
    if (!dy.defined()) return {rest, at::Tensor(), at::Tensor()};
    RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0], weight = saved[1];
    const QueuePtr queue = started_queue(ctx->saved_data["queue"], ctx->needs_input_grad(1));
    at::Tensor of_x, of_weight;
    if (ctx->needs_input_grad(0)) of_x = input_gradient(dy, rest, x, weight);
    if (ctx->needs_input_grad(1)) {
      of_weight = weight_gradient(queue, weight, dy, x, [dy, x, weight] {
        return conv_1x1_gradient(dy, x, weight, /*of_x=*/false);
      });
    }
    return {of_x, of_weight, at::Tensor()};
  }

 private:
  // With what the others have given.
  static at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& rest,
                                   const at::Tensor& x, const at::Tensor& weight) {
    if (rest.defined() && in_channels_last_order(rest) && in_channels_last_order(dy) &&
        rest.scalar_type() == dy.scalar_type() && may_be_overwritten(rest)) {
      as_rows(rest).addmm_(as_rows(dy), as_rows(weight));
      return rest;
    }
    const at::Tensor of_x = conv_1x1_gradient(dy, x, weight, /*of_x=*/true);
    return rest.defined() ? of_x + rest : of_x;
  }
};

}  // namespace

bool fits_conv_branch(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight) {
  using Pair = std::array<int64_t, 2>;
  return info.kind == LayerKind::kConv2d && info.groups == 1 && info.kernel == Pair{1, 1} &&
         info.stride == Pair{1, 1} && info.padding == Pair{0, 0} && x.is_cuda() && x.dim() == 4 &&
         x.size(1) == info.in && x.scalar_type() == at::kBFloat16 &&
         weight.scalar_type() == at::kBFloat16 && in_channels_last_order(x) &&
         in_channels_last_order(weight) && at::GradMode::is_enabled() && x.requires_grad();
}

ConvBranch conv_branch(const at::Tensor& x, const at::Tensor& weight) {
  auto both = ConvBranchFunction::apply(x, weight, gradient_queue(x, weight));
  return {both[0], both[1]};
}

}  // namespace adagp::nn
