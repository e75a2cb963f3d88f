#include "adagp/engine/models/build_part.h"

#include <algorithm>
#include <set>

#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::models {
namespace {

// Biases and parameters of norms are small, and networks set them in many ways.
bool is_large(const at::Tensor& parameter) {
  return parameter.dim() > 1;
}

std::set<size_t> numbers_of_unwanted(const std::string& name, const Options& options,
                                     const Wanted& wanted) {
  const nn::NumberedTensors numbered;
  const auto shapes = build_shapes(name, options);
  std::set<size_t> numbers;
  for (const auto& item : shapes->named_parameters()) {
    if (!is_large(item.value()) || wanted(item.key())) continue;
    const auto& all = numbered.all();
    const auto found = std::find_if(all.begin(), all.end(), [&](const at::Tensor& tensor) {
      return tensor.is_same(item.value());
    });
    if (found != all.end()) numbers.insert(static_cast<size_t>(found - all.begin()));
  }
  return numbers;
}

}  // namespace

std::shared_ptr<Net> build_part(const std::string& name, const Options& options,
                                const Wanted& wanted) {
  const nn::WithoutValues scope(numbers_of_unwanted(name, options, wanted));
  return build(name, options);
}

std::shared_ptr<Net> build_shapes(const std::string& name, const Options& options) {
  const nn::ShapeOnlyScope shapes;
  return build(name, options);
}

}  // namespace adagp::models
