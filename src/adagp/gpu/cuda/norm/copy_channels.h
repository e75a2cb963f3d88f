#pragma once
// Copies some channels of a map from one pitch to another: into the buffer of a dense block, and
// out of its gradient. The bits stay as they are.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// Any number of channels works. At full speed run copies whose two addresses, pitches and channels
// are divisible by 16 in bytes; others go by 4 bytes, or by 2.
struct CopyChannelsArgs {
  Type type = Type::kFloat;
  Map map;  // its channels: those to copy
  const void* from = nullptr;
  int64_t from_pitch = 0;  // elements from a position to the next one; 0: map.channels
  void* to = nullptr;      // must not overlap `from`
  int64_t to_pitch = 0;
};
void copy_channels(const CopyChannelsArgs& args, Stream stream);

namespace reference {
void copy_channels(const CopyChannelsArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
