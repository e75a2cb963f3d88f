#pragma once
// Another way to compute a layer's products than those of nn/convolutions.h and nn/products.h, for
// experiments: other number formats, products with errors.

#include <ATen/core/Tensor.h>

namespace adagp::nn {

class WeightLayer;

class ProductRule {
 public:
  virtual ~ProductRule() = default;

  // Whether it computes the products of this moment. Where it does not, ours run.
  virtual bool applies() const { return true; }
  // Differentiable. `x` as it came, not on the meta device; `weight` and `bias` (or undefined) are
  // the layer's used ones, or a part of them.
  virtual at::Tensor product(const WeightLayer& layer, const at::Tensor& x,
                             const at::Tensor& weight, const at::Tensor& bias) const = 0;
};

}  // namespace adagp::nn
