#include "adagp/engine/nn/image_conv.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/engine/nn/own_conv.h"
#include "adagp/engine/nn/products.h"
#include "adagp/gpu/cuda/conv/image_conv.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

cuda::ImageConvArgs image_conv_args(const at::Tensor& x, const at::Tensor& weight) {
  cuda::ImageConvArgs args;
  args.x_type = device::type_of(x);
  args.map = device::map_of(x);
  args.filters = static_cast<int>(weight.size(0));
  args.x = x.const_data_ptr();
  return args;
}

}  // namespace

bool fits_image_conv(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight) {
  return keeps_size_3x3(info) && x.dim() == 4 && device::has_type(x) && !x.requires_grad() &&
         weight.scalar_type() == at::kBFloat16 &&
         weight.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         cuda::image_conv_fits(device::map_of(x), info.out);
}

at::Tensor image_conv_product(const at::Tensor& x, const at::Tensor& weight) {
  static constexpr OwnConv kOwn = {
      [](const at::Tensor& map, const at::Tensor& filters, int64_t) {
        return image_conv_forward(map, filters);
      },
      nullptr,
      [](const at::Tensor& dy, const at::Tensor& map, const at::Tensor& filters, int64_t) {
        return image_conv_weight_gradient(dy, map, filters);
      }};
  return own_product(kOwn, x, weight, 1);
}

at::Tensor image_conv_forward(const at::Tensor& x, const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
  cuda::ImageConvArgs args = image_conv_args(x, weight);
  at::Tensor y = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, weight.options(),
                           at::MemoryFormat::ChannelsLast);
  args.weight = weight.const_data_ptr();
  args.y = y.mutable_data_ptr();
  device::run(x.device(), args, cuda::image_conv_forward, cuda::reference::image_conv_forward);
  return y;
}

at::Tensor image_conv_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                      const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");
  cuda::ImageConvArgs args = image_conv_args(x, weight);
  // Like the weight: the optimizer's kernels go by memory order.
  at::Tensor dweight = at::empty_like(weight);
  args.dy = dy.const_data_ptr();
  args.dweight = dweight.mutable_data_ptr();
  const at::Tensor workspace = at::empty({cuda::image_conv_workspace(args.map, args.filters)},
                                         x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  device::run(x.device(), args, cuda::image_conv_weight_gradient,
              cuda::reference::image_conv_weight_gradient);
  return dweight;
}

}  // namespace adagp::nn
