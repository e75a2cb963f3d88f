#include "adagp/engine/nn/channel_parts.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/gpu/cuda/norm/copy_channels.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

// A part of a gradient without gaps.
at::Tensor dense_part(const at::Tensor& part) {
  if (part.is_contiguous(at::MemoryFormat::ChannelsLast) || device::pitch_of(part) == 0 ||
      !device::has_kernels(part.device()) || !device::has_type(part)) {
    return device::channels_last(part);
  }
  const at::Tensor out = at::empty(part.sizes(), part.options(), at::MemoryFormat::ChannelsLast);
  copy_channels(part, out, part.size(1));
  return out;
}

class JoinFunction : public torch::autograd::Function<JoinFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& added, const at::Tensor& both, bool dense) {
    ctx->saved_data["old"] = x.size(1);
    ctx->saved_data["more"] = added.size(1);
    ctx->saved_data["dense"] = dense;
    return both.variable_data();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const int64_t old = ctx->saved_data["old"].toInt(), more = ctx->saved_data["more"].toInt();
    const at::Tensor part = gradients[0].narrow(1, old, more);
    return {gradients[0].narrow(1, 0, old),
            ctx->saved_data["dense"].toBool() ? dense_part(part) : part,
            {},
            {}};
  }
};

}  // namespace

void copy_channels(const at::Tensor& from, const at::Tensor& to, int64_t to_pitch) {
  RECORD_USER_SCOPE("adagp::elementwise");  // for experiment/kind_timer.h
  cuda::copy_channels({device::type_of(from), device::map_of(from), from.const_data_ptr(),
                       device::pitch_of(from), to.mutable_data_ptr(), to_pitch},
                      device::stream(from.device()));
}

at::Tensor joined_channels(const at::Tensor& x, const at::Tensor& added, const at::Tensor& both,
                           AddedGradient gradient) {
  return JoinFunction::apply(x, added, both, gradient == AddedGradient::kDense);
}

}  // namespace adagp::nn
