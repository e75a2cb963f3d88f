#include "adagp/engine/models/conv_unit.h"

#include <utility>

namespace adagp::models {

nn::Conv2d plain_conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(nn::conv(in, out, kernel, stride, kernel / 2, /*bias=*/false));
}

ConvUnitImpl::ConvUnitImpl(nn::Conv2dOptions options, nn::NormAct act, const UnitStyle& style)
    : act_(std::move(act)) {
  options.bias = false;
  conv_ = register_module(style.conv, nn::Conv2d(options));
  norm_ = register_module(style.norm, nn::BatchNorm2d(options.out, style.eps));
}

}  // namespace adagp::models
