// copy_channels against its reference.

#include "adagp/gpu/cuda/norm/copy_channels.h"

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class CopyChannels : public KernelTest {};

// Any bits, NaNs among them.
std::vector<uint8_t> random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> out(count);
  for (uint8_t& value : out) value = static_cast<uint8_t>(random());
  return out;
}

// Channels [from_first, ...) of a map of from_pitch go to [to_first, ...) of one of to_pitch.
struct Copy {
  Map map;
  int64_t from_pitch, from_first, to_pitch, to_first;
};
const Copy kCopies[] = {
    {{16, 8, 8, 32}, 32, 0, 128, 64},     // into a buffer
    {{16, 8, 8, 32}, 96, 64, 32, 0},      // out of a gradient
    {{64, 28, 28, 32}, 32, 0, 512, 480},  // more than one step of each thread
    {{7, 5, 3, 12}, 12, 0, 40, 16},       // no 16 bytes in bf16
    {{9, 6, 6, 24}, 59, 3, 24, 0},        // odd pitch and address
    {{5, 7, 7, 5}, 8, 1, 9, 2},           // bf16 one by one
    {{2, 4, 4, 2056}, 4112, 8, 2064, 8},  // wider than a block's threads
    {{3, 2, 2, 600}, 601, 1, 600, 0},     // and that word by word
    {{1, 1, 1, 24}, 24, 0, 48, 24},      {{300, 1, 1, 8}, 16, 8, 8, 0},
};

TEST_F(CopyChannels, SameBitsAsReferenceAndNothingBeside) {
  for (const Copy& copy : kCopies) {
    for (const Type type : {Type::kFloat, Type::kBFloat16}) {
      SCOPED_TRACE(describe(copy.map, type) + " to pitch " + std::to_string(copy.to_pitch));
      const int64_t size = cuda::size_of(type);
      const auto bytes = [&](int64_t pitch) {
        return static_cast<size_t>(copy.map.positions() * pitch * size);
      };
      Bytes from(random_bytes(bytes(copy.from_pitch), 1)),
          to(random_bytes(bytes(copy.to_pitch), 2));
      for (const bool kernel : {false, true}) {
        cuda::CopyChannelsArgs a;
        a.type = type, a.map = copy.map;
        a.from = from.at(kernel) + copy.from_first * size, a.from_pitch = copy.from_pitch;
        a.to = to.at(kernel) + copy.to_first * size, a.to_pitch = copy.to_pitch;
        kernel ? cuda::copy_channels(a, nullptr) : cuda::reference::copy_channels(a);
      }
      EXPECT_TRUE(to.device.host() == to.host);
      EXPECT_TRUE(from.device.host() == from.host);
    }
  }
}

TEST_F(CopyChannels, WithoutPitchesBothAreDense) {
  const Map map{4, 3, 3, 20};
  Bytes from(random_bytes(elements(map) * 2, 3)), to(from.host.size());
  cuda::copy_channels({Type::kBFloat16, map, from.at(true), 0, to.at(true), 0}, nullptr);
  EXPECT_TRUE(to.device.host() == from.host);
}

TEST_F(CopyChannels, RefusesPositionsThatOverlap) {
  Bytes memory(size_t{4096});
  const Map map{1, 4, 4, 8};
  EXPECT_THROW(
      cuda::copy_channels({Type::kFloat, map, memory.at(true), 4, memory.at(true), 8}, nullptr),
      Error);
  EXPECT_THROW(
      cuda::copy_channels({Type::kFloat, map, memory.at(true), 8, memory.at(true), 4}, nullptr),
      Error);
}

}  // namespace
}  // namespace adagp::test
