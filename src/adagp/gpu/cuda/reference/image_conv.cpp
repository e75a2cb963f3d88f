#include "adagp/gpu/cuda/conv/image_conv.h"

#include "adagp/gpu/cuda/reference/conv3x3.h"

namespace adagp::cuda {
namespace {

reference::Conv3x3 image_conv_of(const ImageConvArgs& a) {
  return {a.map, a.filters, a.x_type, a.x, a.weight, a.dy, a.y, a.dweight};
}

}  // namespace

void reference::image_conv_forward(const ImageConvArgs& args) {
  conv3x3_forward(image_conv_of(args));
}

void reference::image_conv_weight_gradient(const ImageConvArgs& args) {
  conv3x3_weight_gradient(image_conv_of(args));
}

}  // namespace adagp::cuda
