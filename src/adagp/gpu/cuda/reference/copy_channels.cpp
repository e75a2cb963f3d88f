// The definition of copy_channels: position by position.

#include "adagp/gpu/cuda/norm/copy_channels.h"

#include <cstring>

namespace adagp::cuda::reference {

void copy_channels(const CopyChannelsArgs& args) {
  const int64_t size = size_of(args.type), channels = args.map.channels;
  const int64_t from_pitch = args.from_pitch == 0 ? channels : args.from_pitch;
  const int64_t to_pitch = args.to_pitch == 0 ? channels : args.to_pitch;
  const auto* from = static_cast<const char*>(args.from);
  auto* to = static_cast<char*>(args.to);
  for (int64_t p = 0; p < args.map.positions(); ++p) {
    std::memcpy(to + p * to_pitch * size, from + p * from_pitch * size,
                static_cast<size_t>(channels * size));
  }
}

}  // namespace adagp::cuda::reference
