#include "adagp/engine/task/loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/loss.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::task {
namespace {

Loss by_kernel(RunningMetrics& tally, double smoothing, const at::Tensor& given,
               const at::Tensor& labels, const LossRequest& request) {
  const at::Tensor logits = given.detach().contiguous();
  Loss out;
  out.value = at::empty({}, logits.options().dtype(at::kFloat));
  if (request.gradient) out.gradient = at::empty_like(logits);
  cuda::LossArgs a;
  a.logits = logits.const_data_ptr();
  a.type = device::type_of(logits);
  a.labels = labels.const_data_ptr<int64_t>();
  a.batch = logits.size(0);
  a.classes = logits.size(1);
  a.smoothing = static_cast<float>(smoothing);
  a.gradient = request.gradient ? out.gradient.mutable_data_ptr() : nullptr;
  a.loss = out.value.mutable_data_ptr<float>();
  a.meters = tally.device_sums();
  if (request.keeps()) {
    const at::Tensor &table = request.table, &rows = request.rows;
    if (table.device() != logits.device() || rows.device() != logits.device() ||
        !table.is_contiguous() || !rows.is_contiguous() || rows.numel() != a.batch) {
      throw Error("softmax_loss: the examples' losses have no fitting table and rows");
    }
    a.table = table.mutable_data_ptr<float>();
    a.rows = rows.const_data_ptr<int64_t>();
  }
  a.workspace = device::scratch(device::Scratch::kLoss, logits.device(),
                                cuda::loss_workspace(logits.size(0)));
  cuda::softmax_loss(a, device::stream(logits.device()));
  return out;
}

}  // namespace

Loss softmax_loss(RunningMetrics& tally, double smoothing, const at::Tensor& logits,
                  const at::Tensor& labels, const LossRequest& request, bool differentiable) {
  if (!differentiable && device::has_kernels(logits.device()) && device::has_type(logits)) {
    return by_kernel(tally, smoothing, logits, labels, request);
  }
  if (request.keeps()) {
    request.table.index_copy_(0, request.rows, softmax_losses(logits, labels));
  }
  const at::Tensor scores = logits.scalar_type() == at::kBFloat16 ? logits.to(at::kFloat) : logits;
  Loss out;
  out.value = at::cross_entropy_loss(scores, labels, {}, at::Reduction::Mean, -100, smoothing);
  tally.add(out.value, scores.detach(), labels);
  return out;
}

at::Tensor softmax_losses(const at::Tensor& logits, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  return at::cross_entropy_loss(logits.detach().to(at::kFloat), labels, {}, at::Reduction::None);
}

namespace {

// The loss is a mean over examples, so that weighting one is weighting its rows of the outputs'
// gradients.
void weighted_backward(const Loss& loss, const models::Tensors& outputs,
                       const at::Tensor& weights) {
  const models::Tensors gradients = loss.gradient.defined()
                                        ? models::Tensors{loss.gradient}
                                        : torch::autograd::grad({loss.value}, outputs);
  const models::Tensors from(outputs.begin(),
                             outputs.begin() + static_cast<std::ptrdiff_t>(gradients.size()));
  models::Tensors weighted;
  for (const at::Tensor& gradient : gradients) {
    std::vector<int64_t> shape(static_cast<size_t>(gradient.dim()), 1);
    shape[0] = -1;
    weighted.push_back(gradient * weights.view(shape).to(gradient.scalar_type()));
  }
  torch::autograd::backward(from, weighted);
}

}  // namespace

void backward(const Loss& loss, const models::Tensors& outputs, double share,
              const at::Tensor& weights) {
  if (weights.defined()) {
    weighted_backward(loss, outputs, share == 1 ? weights : weights * share);
    return;
  }
  if (loss.gradient.defined()) {
    torch::autograd::backward({outputs.at(0)},
                              {share == 1 ? loss.gradient : loss.gradient * share});
  } else {
    (share == 1 ? loss.value : loss.value * share).backward();
  }
}

}  // namespace adagp::task
