#include "adagp/nn/growing_map.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/device/kernels.h"
#include "adagp/nn/conv_norm.h"
#include "adagp/nn/norm_sync.h"
#include "adagp/nn/ops.h"

namespace adagp::nn {
namespace {

// Some channels of a map whose positions are `pitch` elements apart, from element `first` of x's
// memory on. The view has a version counter of its own: autograd must not take new channels beside
// a saved map for a change of that map.
at::Tensor channels_of(const at::Tensor& x, int64_t pitch, int64_t first, int64_t count) {
  const int64_t height = x.size(2), width = x.size(3);
  return x.variable_data().as_strided({x.size(0), count, height, width},
                                      {height * width * pitch, 1, width * pitch, pitch},
                                      x.storage_offset() + first);
}

// Whether the buffer of a block begins at x and has memory behind its channels.
bool has_room(const at::Tensor& x, int64_t room) {
  if (device::pitch_of(x) != room || room == x.size(1)) return false;
  const int64_t elements = x.size(0) * x.size(2) * x.size(3) * room;
  return x.storage_offset() == 0 &&
         static_cast<int64_t>(x.storage().nbytes()) >= elements * x.element_size();
}

class GrowFunction : public torch::autograd::Function<GrowFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& added, int64_t room) {
    RECORD_USER_SCOPE("adagp::elementwise");  // for experiment/kind_timer.h
    const int64_t old = x.size(1), more = added.size(1);
    ctx->saved_data["old"] = old;
    ctx->saved_data["more"] = more;
    at::Tensor whole = x;
    if (!has_room(x, room)) {
      whole = at::empty({x.size(0), room, x.size(2), x.size(3)}, x.options(),
                        at::MemoryFormat::ChannelsLast);
      channels_of(whole, room, 0, old).copy_(x);
    }
    channels_of(whole, room, old, more).copy_(added);
    return channels_of(whole, room, 0, old + more).variable_data();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    RECORD_USER_SCOPE("adagp::elementwise");
    const int64_t old = ctx->saved_data["old"].toInt(), more = ctx->saved_data["more"].toInt();
    return {gradients[0].narrow(1, 0, old),
            device::channels_last(gradients[0].narrow(1, old, more)),
            {}};
  }
};

}  // namespace

NormBranch norm_relu_branch(BatchNorm2dImpl& norm, const at::Tensor& x) {
  if (!fusable(norm, x)) return {norm_relu(norm, x), x};
  return fused_norm_branch(device::pitched(x), norm);
}

at::Tensor grow(const at::Tensor& x, const at::Tensor& added, int64_t room) {
  if (x.dim() == 4 && added.dim() == 4 && x.size(1) + added.size(1) > room) {
    throw UsageError(core::cat("grow: ", x.size(1), " and ", added.size(1),
                               " channels, more than the ", room, " of the whole map"));
  }
  const bool in_place = norm_sync() == nullptr && device::has_kernels(x.device()) &&
                        device::has_type(x) && x.scalar_type() == added.scalar_type();
  return in_place ? GrowFunction::apply(x, added, room) : concat({x, added});
}

at::Tensor dense(const at::Tensor& x) {
  if (x.is_non_overlapping_and_dense()) return x;
  return x.dim() == 4 ? device::channels_last(x) : x.contiguous();
}

}  // namespace adagp::nn
