#include "adagp/engine/predictor/activations.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::predictor {

Activations::Activations(const std::vector<nn::WeightLayer*>& layers, Needs needs)
    : layers_(layers), needs_(needs), kept_(layers.size()) {
  for (size_t l = 0; l < layers.size(); ++l) places_[layers[l]] = l;
}

void Activations::clear() {
  kept_.assign(kept_.size(), {});
}

void Activations::on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                            const at::Tensor& output) {
  const auto place = places_.find(&layer);
  if (place == places_.end()) return;
  const size_t l = place->second;
  Kept& kept = kept_[l];
  if (!kept.shape.empty()) {
    throw UsageError(core::cat("layer '", layer.path(),
                               "' runs several times in a batch, and this kind of predictor needs "
                               "every layer to run once; use predictor.kind = shared"));
  }
  kept.shape = output.sizes().vec();
  if (needs_.last_only && l + 1 != kept_.size()) return;
  if (needs_.inputs) kept.input = input.detach();
  if (needs_.outputs) kept.output = output.detach().clone();
  if (needs_.deltas && at::GradMode::is_enabled() && output.requires_grad()) {
    // Told the gradient of the tensor as it is now, whatever is written in it afterwards.
    output.register_hook([this, l](const at::Tensor& gradient) { kept_[l].delta = gradient; });
  }
}

void Activations::on_part(const nn::WeightLayer& layer, int64_t, const at::Tensor&,
                          const at::Tensor&) {
  throw UsageError(core::cat("layer '", layer.path(),
                             "' is used in parts, and this kind of predictor needs every layer to "
                             "run once and as a whole; use predictor.kind = shared"));
}

const at::Tensor& Activations::found(size_t layer, const at::Tensor& tensor,
                                     const char* what) const {
  if (tensor.defined()) return tensor;
  throw Error(core::cat("layer '", layers_[layer]->path(), "': no ", what,
                        " was kept of this batch: is the layer used by the forward pass?"));
}

const at::Tensor& Activations::input(size_t layer) const {
  return found(layer, kept_.at(layer).input, "input");
}
const at::Tensor& Activations::output(size_t layer) const {
  return found(layer, kept_.at(layer).output, "output");
}
const at::Tensor& Activations::delta(size_t layer) const {
  return found(layer, kept_.at(layer).delta, "gradient of the output");
}

const std::vector<int64_t>& Activations::shape(size_t layer) const {
  const auto& shape = kept_.at(layer).shape;
  if (shape.empty()) {
    throw Error(core::cat("layer '", layers_[layer]->path(), "' was not seen in this batch"));
  }
  return shape;
}

at::Tensor example_rows(const at::Tensor& x) {
  return (x.dim() == 4 ? x.permute({0, 2, 3, 1}) : x).reshape({x.size(0), -1});
}

at::Tensor from_rows(const at::Tensor& rows, const std::vector<int64_t>& shape) {
  if (shape.size() == 4) {
    return rows.view({rows.size(0), shape[2], shape[3], shape[1]}).permute({0, 3, 1, 2});
  }
  std::vector<int64_t> sizes = shape;
  sizes[0] = rows.size(0);
  return rows.view(sizes);
}

}  // namespace adagp::predictor
