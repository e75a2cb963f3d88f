#include "adagp/engine/nn/layouts.h"

#include "adagp/base/core/text.h"

namespace adagp::nn {

std::string name_of(Layout layout) {
  return layout == Layout::kContiguous ? "contiguous" : "channels-last";
}

std::string name_of(Product product) {
  if (product == Product::kForward) return "forward";
  return product == Product::kInputGradient ? "input-gradient" : "weight-gradient";
}

std::string describe(const ConvolutionShape& s) {
  const auto pair = [](const std::array<int64_t, 2>& p) { return core::cat(p[0], "x", p[1]); };
  std::string out =
      core::cat(s.in, " -> ", s.out, ", ", s.height, "x", s.width, ", ", pair(s.kernel));
  if (s.stride != std::array<int64_t, 2>{1, 1}) out += ", stride " + pair(s.stride);
  const std::array<int64_t, 2> same{s.kernel[0] / 2, s.kernel[1] / 2};
  if (s.padding != same) out += ", padding " + pair(s.padding);
  if (s.dilation != std::array<int64_t, 2>{1, 1}) out += ", dilation " + pair(s.dilation);
  if (s.groups != 1) out += core::cat(", groups ", s.groups);
  return out;
}

}  // namespace adagp::nn
