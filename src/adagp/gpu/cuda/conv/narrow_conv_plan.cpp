#include "adagp/gpu/cuda/conv/narrow_conv_plan.h"

#include <algorithm>

namespace adagp::cuda {
namespace narrow_conv {

Units units_of(const Map& map, int size, int most_blocks) {
  Units out;
  out.size = size;
  out.count = static_cast<int>((map.positions() + size - 1) / size);
  out.blocks = std::min(out.count, most_blocks);
  out.each = out.count / out.blocks;
  out.rest = out.count % out.blocks;
  out.width = static_cast<int>(map.width);
  out.positions = static_cast<uint32_t>(map.positions());
  out.rows = plan::divider(map.height);
  out.columns = plan::divider(map.width);
  return out;
}

Units forward_units(const Map& map, int tiles) {
  return units_of(map, kWarps * tiles * kTile, kMultiprocessors);
}

int forward_tiles(const Map& map, int64_t block_memory) {
  for (int tiles = 4; tiles > 1; tiles /= 2) {
    const Units units = forward_units(map, tiles);
    // Most multiprocessors must have work.
    if (units.count * 8 >= kMultiprocessors * 7 && forward_bytes(units) <= block_memory) {
      return tiles;
    }
  }
  return forward_bytes(forward_units(map, 1)) <= block_memory ? 1 : 0;
}

int gradient_slices(const Map& map) {
  // Fewer slices: the partial sums of fewer blocks, but dy is read more often.
  return map.positions() >= 512 * kGradientUnit ? 4 : 2;
}

Units gradient_units(const Map& map) {
  const int parts = kSlices / gradient_slices(map);
  return units_of(map, kGradientUnit / (map.positions() < 64 * kGradientUnit ? 2 : 1),
                  kMultiprocessors / parts);
}

}  // namespace narrow_conv

bool narrow_conv_fits(const Map& map, int64_t filters, int64_t block_memory) {
  using namespace narrow_conv;
  return map.channels == kChannels && filters == kFilters && map.batch > 0 && map.height > 0 &&
         map.width > 0 && map.width <= 1024 && map.positions() <= int64_t{1} << 30 &&
         forward_tiles(map, block_memory) > 0 &&
         gradient_bytes(gradient_units(map), gradient_slices(map)) <= block_memory;
}

int64_t narrow_conv_workspace(const Map& map) {
  using namespace narrow_conv;
  return int64_t{gradient_units(map).blocks} * kSlices * kSums * 32;
}

}  // namespace adagp::cuda
