// A thread has one word of each of its positions and walks over positions.

#include "adagp/gpu/cuda/norm/copy_channels.h"
#include "adagp/gpu/cuda/norm/elementwise.cuh"

namespace adagp::cuda {
using namespace norm;
namespace {

struct Launch {
  const void* from;
  void* to;
  uint32_t from_pitch, to_pitch;  // in words
  Walk walk;                      // eight channels of its tiling stand for a word
};

template <typename Word>
constexpr int kLoads = sizeof(Word) == 16 ? 4 : 8;

template <typename Word>
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ Launch p) {
  constexpr int kAtOnce = kLoads<Word>;
  const Lane lane = lane_of(p.walk.tiling, static_cast<int>(blockIdx.y));
  if (lane.valid == 0) return;
  const Word* from = static_cast<const Word*>(p.from) + lane.channel / kLanes;
  Word* to = static_cast<Word*>(p.to) + lane.channel / kLanes;
  walk<kAtOnce>(p.walk, lane, [&](const auto& place) {
    Word value[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) value[i] = from[offset_of(place[i], p.from_pitch)];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (place.valid(i)) to[offset_of(place[i], p.to_pitch)] = value[i];
    }
  });
}

// Sizes in bytes.
struct Sizes {
  int64_t row, from_pitch, to_pitch;
};

template <typename Word>
bool fits(const CopyChannelsArgs& args, const Sizes& sizes) {
  constexpr int64_t kSize = sizeof(Word);
  const auto from = reinterpret_cast<uintptr_t>(args.from);
  const auto to = reinterpret_cast<uintptr_t>(args.to);
  return from % kSize == 0 && to % kSize == 0 && sizes.row % kSize == 0 &&
         sizes.from_pitch % kSize == 0 && sizes.to_pitch % kSize == 0;
}

template <typename Word>
void copy_by(const CopyChannelsArgs& args, const Sizes& sizes, Stream stream) {
  constexpr int64_t kSize = sizeof(Word);
  const Walk walk{plan::tiling(sizes.row / kSize * kLanes, plan::kMapWidth),
                  static_cast<uint32_t>(args.map.positions())};
  const Launch launch{args.from, args.to, static_cast<uint32_t>(sizes.from_pitch / kSize),
                      static_cast<uint32_t>(sizes.to_pitch / kSize), walk};
  copy_kernel<Word>
      <<<grid_of(walk, kLoads<Word>), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(launch);
}

}  // namespace

void copy_channels(const CopyChannelsArgs& args, Stream stream) {
  if (args.map.count() == 0) return;
  plan::check_map(args.map, "copy_channels");
  plan::check_pitch(args.from_pitch, args.map, "copy_channels");
  plan::check_pitch(args.to_pitch, args.map, "copy_channels");
  const int64_t size = size_of(args.type);
  const Sizes sizes{args.map.channels * size,
                    int64_t{pitch_or_channels(args.from_pitch, args.map)} * size,
                    int64_t{pitch_or_channels(args.to_pitch, args.map)} * size};
  if (fits<uint4>(args, sizes)) {
    copy_by<uint4>(args, sizes, stream);
  } else if (fits<uint32_t>(args, sizes)) {
    copy_by<uint32_t>(args, sizes, stream);
  } else {
    copy_by<uint16_t>(args, sizes, stream);
  }
  check_launch("copy_channels");
}

}  // namespace adagp::cuda
