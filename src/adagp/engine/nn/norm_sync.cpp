#include "adagp/engine/nn/norm_sync.h"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace adagp::nn {
namespace {

thread_local const NormSync* active_sync = nullptr;

at::Tensor over_channels(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

// Numbers of a channel in all processes.
double count_of(const NormSync& sync, const at::Tensor& x) {
  return static_cast<double>(x.numel() / x.size(1)) * static_cast<double>(sync.processes) /
         sync.weight;
}

// Of this process's mean, that of all.
void join_means(const NormSync& sync, at::Tensor& mean) {
  if (sync.weight != 1) mean.mul_(sync.weight);
  sync.sum(mean);
  mean.div_(static_cast<double>(sync.processes));
}

struct SyncedNorm : torch::autograd::Function<SyncedNorm> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse,
                            const NormSync* sync) {
    ctx->save_for_backward({x, weight, mean, inverse});
    ctx->saved_data["sync"] = static_cast<int64_t>(reinterpret_cast<intptr_t>(sync));
    const at::Tensor scale = weight * inverse;
    return (x * over_channels(scale) + over_channels(bias - mean * scale)).to(x.scalar_type());
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const auto* sync = reinterpret_cast<const NormSync*>(ctx->saved_data["sync"].toInt());
    const at::Tensor& dy = gradients[0];
    const at::Tensor normal = (x - over_channels(mean)) * over_channels(inverse);
    const at::Tensor of_bias = dy.sum({0, 2, 3}), of_weight = (dy * normal).sum({0, 2, 3});
    // Every process's loss is the mean of its own examples, with its weight, so that its sums stand
    // for 1 / processes of the whole.
    at::Tensor both = at::stack({of_bias, of_weight});
    sync->sum(both);
    const double count = count_of(*sync, x);
    const at::Tensor dx =
        (dy - over_channels(both[0]) / count - normal * over_channels(both[1]) / count) *
        over_channels(weight * inverse);
    return {dx.to(x.scalar_type()), of_weight, of_bias, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

NormSyncScope::NormSyncScope(const NormSync* sync)
    : previous_(std::exchange(active_sync, sync != nullptr ? sync : active_sync)) {}
NormSyncScope::~NormSyncScope() {
  active_sync = previous_;
}
const NormSync* norm_sync() {
  return active_sync;
}

at::Tensor synced_batch_norm(const NormSync& sync, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias, const at::Tensor& running_mean,
                             const at::Tensor& running_var, double momentum, double eps) {
  at::Tensor mean, variance;
  {
    // The mean first, then the squares of what is left: their difference would lose digits.
    const at::NoGradGuard no_grad;
    mean = x.mean({0, 2, 3}, false, at::kFloat);
    join_means(sync, mean);
    variance = (x - over_channels(mean)).square().mean({0, 2, 3}, false, at::kFloat);
    join_means(sync, variance);
    const double count = count_of(sync, x);
    running_mean.lerp_(mean, momentum);
    running_var.lerp_(variance * (count / (count - 1)), momentum);
  }
  return SyncedNorm::apply(x, weight, bias, mean, (variance + eps).rsqrt(), &sync);
}

}  // namespace adagp::nn
