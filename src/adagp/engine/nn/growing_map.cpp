#include "adagp/engine/nn/growing_map.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/channel_parts.h"
#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/nn/norm_sync.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/engine/nn/summary_cells.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/device/kernels.h"

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

bool grows_in_place(const at::Tensor& x) {
  return norm_sync() == nullptr && device::has_kernels(x.device()) && device::has_type(x);
}

bool same_positions(const at::Tensor& x, const at::Tensor& y) {
  return x.dim() == 4 && y.dim() == 4 && x.size(0) == y.size(0) && x.size(2) == y.size(2) &&
         x.size(3) == y.size(3);
}

// The copy, the statistics and what the tap wants from one read of `from`.
void append_channels(const at::Tensor& from, const at::Tensor& to, int64_t to_pitch,
                     const ChannelStatistics& statistics,
                     const std::optional<TapSink::SummaryTarget>& summary) {
  RECORD_USER_SCOPE("adagp::norm");
  cuda::StatsArgs a;
  a.x = from.const_data_ptr();
  a.type = device::type_of(from);
  a.map = device::map_of(from);
  a.pitch = device::pitch_of(from);
  a.copy = to.mutable_data_ptr();
  a.copy_pitch = to_pitch;
  a.mean = statistics.mean;
  a.variance = statistics.variance;
  if (summary) ask_for_summary(*summary, from, a);
  a.workspace =
      device::scratch(device::Scratch::kStats, from.device(), cuda::stats_workspace(a.map, a.size));
  cuda::norm_stats(a, device::stream(from.device()));
}

// x for autograd, where its values were copied to `copy`.
class MovedFunction : public torch::autograd::Function<MovedFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x,
                            const at::Tensor& copy) {
    (void)x;
    return copy.variable_data();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0], {}};
  }
};

}  // namespace

at::Tensor GrowingMap::begun(const at::Tensor& x) {
  const int64_t room = buffer_.room();
  // A map of one position has no pitch by which its buffer would be known again.
  if (has_room(x, room) || x.size(0) * x.size(2) * x.size(3) == 1) return x;
  const auto [whole, statistics] = buffer_.make(x);
  const at::Tensor copy = channels_of(whole, room, 0, x.size(1));
  append_channels(x, copy, room, statistics, {});
  buffer_.set_known(whole, x.size(1));
  return at::GradMode::is_enabled() ? MovedFunction::apply(x, copy) : copy;
}

NormBranch GrowingMap::norm_relu_branch(BatchNorm2dImpl& norm, const at::Tensor& x) {
  if (!fusable(norm, x)) return {nn::norm_relu(norm, x), x};
  const at::Tensor pitched = device::pitched(x);
  if (!norm.is_training()) return fused_norm_branch(pitched, norm, {});
  const at::Tensor in_buffer = begun(pitched);
  return fused_norm_branch(in_buffer, norm, buffer_.of(in_buffer));
}

at::Tensor GrowingMap::norm_relu(BatchNorm2dImpl& norm, const at::Tensor& x) const {
  if (!fusable(norm, x)) return nn::norm_relu(norm, x);
  FusedNorm plan;
  plan.relu = true;
  plan.known = buffer_.of(x);
  return fused_norm(device::pitched(x), {}, norm, {}, plan);
}

at::Tensor GrowingMap::grow(const at::Tensor& x, Conv2dImpl& conv, const at::Tensor& input) {
  TapSink* sink = active_sink();
  // The tap's wish rides on the pass that takes the statistics, where there is one.
  const bool rides = sink != nullptr && grows_in_place(x) && buffer_.behind(x) &&
                     !conv.bias.defined() && conv.used_weight().scalar_type() == x.scalar_type();
  if (!rides) return grow(x, conv.forward(input));
  const auto summary = sink->summary_target(conv);
  if (!summary) return grow(x, conv.forward(input));
  at::Tensor both = grown(x, conv.product(input), summary);
  sink->on_summary(conv);
  return both;
}

at::Tensor GrowingMap::grow(const at::Tensor& x, const at::Tensor& added) {
  if (x.dim() == 4 && added.dim() == 4 && x.size(1) + added.size(1) > buffer_.room()) {
    throw UsageError(core::cat("grow: ", x.size(1), " and ", added.size(1),
                               " channels, more than the ", buffer_.room(), " of the whole map"));
  }
  const bool in_place = grows_in_place(x) && x.scalar_type() == added.scalar_type();
  return in_place ? grown(x, added, {}) : concat({x, added});
}

at::Tensor GrowingMap::grown(const at::Tensor& x, const at::Tensor& added,
                             const std::optional<TapSink::SummaryTarget>& summary) {
  const int64_t room = buffer_.room(), old = x.size(1), more = added.size(1);
  // Kernels would write beside the map.
  if (!same_positions(x, added) || x.scalar_type() != added.scalar_type() || old + more > room) {
    throw Error(core::cat("grow: ", added.sizes(), " ", c10::toString(added.scalar_type()),
                          " do not go behind ", x.sizes(), " ", c10::toString(x.scalar_type()),
                          " in a map of ", room, " channels"));
  }
  const at::Tensor part = device::pitched(added);
  at::Tensor whole = x;
  if (!has_room(x, room)) {
    whole = at::empty({x.size(0), room, x.size(2), x.size(3)}, x.options(),
                      at::MemoryFormat::ChannelsLast);
    copy_channels(device::pitched(x.variable_data()), whole, room);
  }
  const at::Tensor to = channels_of(whole, room, old, more);
  if (const auto statistics = buffer_.behind(x)) {
    append_channels(part, to, room, *statistics, summary);
    buffer_.set_known(x, old + more);
  } else {
    copy_channels(part, to, room);
  }
  const at::Tensor both = channels_of(whole, room, 0, old + more);
  if (!at::GradMode::is_enabled()) return both;
  // Dense, because cuDNN's input gradient of the convolution that made them reads no parts.
  return joined_channels(x, part, both, AddedGradient::kDense);
}

at::Tensor dense(const at::Tensor& x) {
  if (x.is_non_overlapping_and_dense()) return x;
  return x.dim() == 4 ? device::channels_last(x) : x.contiguous();
}

}  // namespace adagp::nn
