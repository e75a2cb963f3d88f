#include "adagp/engine/nn/joined_map.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/channel_parts.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

// Without autograd and with a version counter of its own: writing beside it does not change it.
at::Tensor channels_of_map(const at::Tensor& map, int64_t first, int64_t count) {
  return map.variable_data().narrow(1, first, count).variable_data();
}

bool is_at(const at::Tensor& part, const at::Tensor& place) {
  return part.const_data_ptr() == place.const_data_ptr() && part.sizes() == place.sizes() &&
         device::pitch_of(part) == device::pitch_of(place);
}

bool is_like(const at::Tensor& map, const at::Tensor& part) {
  return part.dim() == 4 && part.size(0) == map.size(0) && part.size(2) == map.size(2) &&
         part.size(3) == map.size(3) && part.scalar_type() == map.scalar_type() &&
         part.device() == map.device();
}

}  // namespace

at::Tensor JoinedMap::place(int64_t first, const at::Tensor& like) {
  if (!whole_.defined()) {
    whole_ = at::empty({like.size(0), channels_, like.size(2), like.size(3)},
                       like.options().requires_grad(false), at::MemoryFormat::ChannelsLast);
  }
  // Kernels would write beside the map.
  if (!is_like(whole_, like) || first < 0 || first + like.size(1) > channels_) {
    throw Error(core::cat("joined map: ", like.sizes(), " from channel ", first,
                          " on do not go into ", whole_.sizes()));
  }
  return channels_of_map(whole_, first, like.size(1));
}

at::Tensor JoinedMap::join(int64_t first, const std::vector<at::Tensor>& parts) {
  if (!whole_.defined()) return concat(parts);
  for (const at::Tensor& part : parts) {
    if (!is_like(whole_, part)) return concat(parts);
  }
  at::Tensor joined;
  int64_t channels = 0;
  for (const at::Tensor& part : parts) {
    const at::Tensor place = this->place(first + channels, part);
    if (!is_at(part, place)) {
      if (part.storage().is_alias_of(whole_.storage())) {
        throw Error(
            core::cat("joined map: a part is in the place of another one; expected channel ",
                      first + channels));
      }
      copy_channels(device::pitched(part.detach()), place, channels_);
    }
    channels += part.size(1);
    if (!joined.defined()) {
      joined = part;  // for autograd: values are read from the map
      continue;
    }
    const at::Tensor both = channels_of_map(whole_, first, channels);
    joined = at::GradMode::is_enabled()
                 ? joined_channels(joined, part, both, AddedGradient::kPitched)
                 : both;
  }
  return joined;
}

}  // namespace adagp::nn
