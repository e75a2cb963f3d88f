#include "adagp/gpu/cuda/conv/image_conv_plan.h"

#include <algorithm>

namespace adagp::cuda {
namespace image_conv {
namespace {

bool cuts(int64_t rows, const Map& map) {
  const int64_t bytes = (rows + 2) * (kChannels * map.width + 8) * 2;
  return map.height % rows == 0 && rows * map.width % kTile == 0 && bytes <= kMostBandBytes;
}

}  // namespace

Bands bands_of(const Map& map) {
  Bands out;
  int rows = kMostRows;
  while (rows > 0 && !cuts(rows, map)) --rows;
  if (rows == 0) return out;
  out.rows = rows;
  out.width = static_cast<int>(map.width);
  out.units = static_cast<int>(map.batch * (map.height / rows));
  out.blocks = std::min(out.units, kMostBlocks);
  out.each = out.units / out.blocks;
  out.rest = out.units % out.blocks;
  out.per_image = plan::divider(map.height / rows);
  out.columns = plan::divider(map.width);
  out.pairs = plan::divider(kChannels * map.width / 2);
  return out;
}

}  // namespace image_conv

bool image_conv_fits(const Map& map, int64_t filters) {
  return map.channels == image_conv::kChannels && (filters == 32 || filters == 64) &&
         map.batch > 0 && map.height > 0 && map.width > 0 && map.positions() <= int64_t{1} << 30 &&
         image_conv::bands_of(map).rows > 0;
}

int64_t image_conv_workspace(const Map& map, int64_t filters) {
  return image_conv::bands_of(map).blocks * filters * image_conv::kDepth;
}

}  // namespace adagp::cuda
