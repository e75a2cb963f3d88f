#include "adagp/rivals/predictor/vt.h"

#include <ATen/ATen.h>

#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/rivals/entries.h"

namespace adagp::predictor {

at::Tensor VtPredictor::coefficients(const at::Tensor& errors) const {
  return DfaPredictor::coefficients(errors - errors.mean(0, true));
}

at::Tensor VtPredictor::gradient(size_t layer, const at::Tensor& input, const at::Tensor& c,
                                 const at::Tensor& feedback,
                                 const std::vector<int64_t>& shape) const {
  const at::Tensor examples = c.to(input.scalar_type()).t().mm(example_rows(input));
  return weight_gradient(*layers_[layer], from_rows(examples, input.sizes().vec()),
                         from_rows(feedback, shape));
}

double VtPredictor::layer_macs(size_t layer, int64_t examples) const {
  return static_cast<double>(classes_) *
         (static_cast<double>(examples * sizes_[layer].input) + products(layer));
}

Entry entries::vt() {
  return {"vt", "dfa on one virtual example a class: the batch summed up by its errors",
          maker<VtPredictor>()};
}

}  // namespace adagp::predictor
