#include "adagp/gpu/cuda/conv/narrow_conv.h"

#include "adagp/gpu/cuda/conv/narrow_conv_plan.h"
#include "adagp/gpu/cuda/reference/conv3x3.h"

namespace adagp::cuda {
namespace {

reference::Conv3x3 narrow_conv_of(const NarrowConvArgs& a) {
  return {a.map, narrow_conv::kFilters, Type::kBFloat16, a.x, a.weight, a.dy, a.y, a.dweight};
}

}  // namespace

void reference::narrow_conv_forward(const NarrowConvArgs& args) {
  conv3x3_forward(narrow_conv_of(args));
}

void reference::narrow_conv_weight_gradient(const NarrowConvArgs& args) {
  conv3x3_weight_gradient(narrow_conv_of(args));
}

}  // namespace adagp::cuda
