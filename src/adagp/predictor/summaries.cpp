#include "adagp/predictor/summaries.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/predictor/batch_mean.h"

namespace adagp::predictor {

at::Tensor reorganise(const at::Tensor& output, nn::LayerKind kind, int64_t size) {
  const at::Tensor mean = batch_mean(output);
  at::Tensor planes;  // [C, 1, H, W]
  if (kind == nn::LayerKind::kConv2d) {
    planes = mean.unsqueeze(1);
  } else if (mean.dim() == 1) {
    return mean.unsqueeze(1).expand({mean.size(0), size * size});
  } else {
    const at::Tensor tokens = mean.reshape({-1, mean.size(-1)});  // [T, C]
    planes = tokens.t().reshape({tokens.size(1), 1, tokens.size(0), 1});
  }
  // Adaptive pooling also enlarges: a window narrower than a pixel repeats that pixel.
  return at::adaptive_avg_pool2d(planes, {size, size}).flatten(1);
}

Summaries::Summaries(std::vector<nn::WeightLayer*> layers, int64_t size)
    : layers_(std::move(layers)), seen_(layers_.size(), 0), size_(size) {
  if (layers_.empty())
    throw Error("the model has no tapped layer: use adagp::nn::Conv2d or Linear");
  int64_t filters = 0;
  for (const auto* layer : layers_) {
    offsets_.push_back(filters);
    filters += layer->info().rows();
  }
  const auto& weight = layers_.front()->weight;
  const auto dtype = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  rows_ = at::zeros({filters, size * size}, at::TensorOptions(weight.device()).dtype(dtype));
}

void Summaries::begin(int64_t parts) {
  parts_ = parts;
  std::fill(seen_.begin(), seen_.end(), 0);
  kept_input_.reset();
}

at::Tensor Summaries::rows(size_t index) const {
  return rows_.narrow(0, offsets_[index], layers_[index]->info().rows());
}

void Summaries::on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                          const at::Tensor& output) {
  const at::NoGradGuard no_grad;
  const auto index = static_cast<size_t>(layer.index());
  if (index >= layers_.size() || layers_[index] != &layer) {
    throw Error(core::cat("layer '", layer.path(), "' reports to a tap it was not collected for"));
  }
  at::Tensor to = rows(index);
  const at::Tensor summary = reorganise(output.detach(), layer.info().kind, size_);
  // A layer used twice in one pass, or in several micro-batches, contributes the mean of its uses.
  if (seen_[index]++ == 0) {
    to.copy_(summary);
  } else {
    to.add_(summary.sub(to).div_(static_cast<double>(seen_[index])));
  }
  if (kept_ == layer.index()) {
    const at::Tensor flat = input.detach().reshape({-1, input.size(-1)});
    kept_input_ = kept_input_.defined() && parts_ > 1 ? at::cat({kept_input_, flat}) : flat;
  }
}

}  // namespace adagp::predictor
