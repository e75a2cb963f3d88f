#include "adagp/rivals/predictor/class_errors.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::predictor {

const at::Tensor& class_errors(const Context& context, const std::vector<nn::WeightLayer*>& layers,
                               const std::string& kind) {
  if (context.activations == nullptr || context.errors.empty()) {
    throw Error("predictor '" + kind + "' was given neither activations nor the outputs' errors");
  }
  const int64_t classes = layers.back()->info().out;
  const at::Tensor& errors = context.errors.front();
  if (context.errors.size() != 1 || errors.dim() != 2 || errors.size(1) != classes) {
    throw UsageError(core::cat(
        "predictor.kind = ", kind, " needs one output of class scores, made by the last layer: ",
        context.errors.size(), " output(s), the first ", errors.sizes(), ", expected one of [",
        errors.size(0), ", ", classes, "]; use predictor.kind = shared"));
  }
  return errors;
}

}  // namespace adagp::predictor
