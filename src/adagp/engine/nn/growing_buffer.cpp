#include "adagp/engine/nn/growing_buffer.h"

#include <ATen/ATen.h>

#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

int64_t positions_of(const at::Tensor& x) {
  return x.size(0) * x.size(2) * x.size(3);
}

// Bytes of the map, up to where floats may begin.
int64_t map_bytes(int64_t positions, int64_t room, int64_t element) {
  constexpr int64_t kAlign = 16;
  return (positions * room * element + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

GrowingBuffer::Made GrowingBuffer::make(const at::Tensor& x) {
  const int64_t element = x.element_size(), height = x.size(2), width = x.size(3);
  positions_ = positions_of(x);
  known_ = 0;
  const int64_t statistics = 2 * room_ * static_cast<int64_t>(sizeof(float));
  const int64_t bytes = map_bytes(positions_, room_, element) + statistics;
  const at::Tensor memory = at::empty({bytes / element}, x.options());
  memory_ = memory.storage().getWeakStorageImpl();
  const at::Tensor map = memory.as_strided({x.size(0), room_, height, width},
                                           {height * width * room_, 1, width * room_, room_});
  return {map, from(map, 0)};
}

bool GrowingBuffer::holds(const at::Tensor& map) const {
  const c10::StorageImpl* made = memory_._unsafe_get_target();
  return made != nullptr && map.has_storage() && map.storage().unsafeGetStorageImpl() == made;
}

ChannelStatistics GrowingBuffer::from(const at::Tensor& map, int64_t channel) const {
  auto* bytes = static_cast<char*>(map.storage().mutable_data());
  auto* mean =
      reinterpret_cast<float*>(bytes + map_bytes(positions_, room_, map.element_size())) + channel;
  return {mean, mean + room_};
}

std::optional<ChannelStatistics> GrowingBuffer::of(const at::Tensor& x) const {
  if (!holds(x) || x.dim() != 4 || x.storage_offset() != 0 || positions_of(x) != positions_ ||
      device::pitch_of(x) != room_ || x.size(1) > known_) {
    return {};
  }
  return from(x, 0);
}

std::optional<ChannelStatistics> GrowingBuffer::behind(const at::Tensor& x) const {
  if (!of(x) || x.size(1) == room_) return {};
  return from(x, x.size(1));
}

void GrowingBuffer::set_known(const at::Tensor& map, int64_t channels) {
  if (holds(map)) known_ = channels;
}

}  // namespace adagp::nn
