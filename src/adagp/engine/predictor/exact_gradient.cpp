#include "adagp/engine/predictor/exact_gradient.h"

#include <ATen/ATen.h>

#include "adagp/engine/nn/products.h"

namespace adagp::predictor {

at::Tensor weight_gradient(const nn::WeightLayer& layer, const at::Tensor& input,
                           const at::Tensor& delta) {
  const nn::LayerInfo& info = layer.info();
  const at::Tensor& weight = layer.weight;
  const at::Tensor error = delta.to(input.scalar_type());
  // The weight's values are not used, its shape and precision are.
  const at::Tensor& near =
      input.scalar_type() == weight.scalar_type() ? weight : layer.used_weight();
  const at::Tensor like = near.detach().to(input.scalar_type());
  const at::Tensor gradient = nn::gradients_of(info, error, input, like, {false, true, false})[1];
  if (gradient.strides() == weight.strides() && gradient.scalar_type() == weight.scalar_type()) {
    return gradient;
  }
  return at::empty_like(weight.detach()).copy_(gradient);
}

}  // namespace adagp::predictor
