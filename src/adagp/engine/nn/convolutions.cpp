#include "adagp/engine/nn/convolutions.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/engine/nn/depthwise.h"
#include "adagp/engine/nn/image_conv.h"
#include "adagp/engine/nn/narrow_conv.h"
#include "adagp/engine/nn/products.h"

namespace adagp::nn {
namespace {

using Conv = const Convolution&;

// Our kernels add no bias.
bool may_be_own(Conv c) {
  return c.layer.own_kernels && !c.bias.defined();
}

}  // namespace

const std::vector<ConvolutionEntry>& convolutions() {
  static const std::vector<ConvolutionEntry> list{
      {"shapes alone", [](Conv c) { return c.x.is_meta() || c.weight().is_meta(); },
       [](Conv c) {
         return at::empty({c.x.size(0), c.info().out, c.size[0], c.size[1]},
                          c.x.options().device(at::kMeta));
       }},
      {"rule of the layer", [](Conv c) { return c.layer.has_rule(); },
       [](Conv c) { return c.layer.rule->product(c.layer, c.x, c.weight(), c.bias); }},
      // These kernels round x themselves.
      {"own, of images",
       [](Conv c) { return may_be_own(c) && fits_image_conv(c.info(), c.x, c.weight()); },
       [](Conv c) { return image_conv_product(c.x, c.weight()); }},
      {"own, depthwise",
       [](Conv c) { return may_be_own(c) && fits_depthwise(c.info(), c.rounded(), c.weight()); },
       [](Conv c) { return depthwise_product(c.rounded(), c.weight(), c.info().stride[0]); }},
      {"own, narrow",
       [](Conv c) { return may_be_own(c) && fits_narrow_conv(c.info(), c.rounded(), c.weight()); },
       [](Conv c) { return narrow_conv_product(c.rounded(), c.weight()); }},
      {"LibTorch", [](Conv) { return true; },
       [](Conv c) { return differentiable_product(c.info(), c.rounded(), c.weight(), c.bias); }},
  };
  return list;
}

const ConvolutionEntry& find_convolution(const Convolution& convolution) {
  const auto& list = convolutions();
  return *std::find_if(list.begin(), list.end(),
                       [&](const ConvolutionEntry& entry) { return entry.fits(convolution); });
}

}  // namespace adagp::nn
