// The halving pool's definition, in the order of the kernel's additions.

#include "adagp/gpu/cuda/conv/halving_pool.h"

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

namespace adagp::cuda {

bool halving_pool_fits(const Map& map) {
  return map.height % 2 == 0 && map.width % 2 == 0 && map.channels % plan::kLanes == 0;
}

void reference::halving_pool(const HalvingPoolArgs& args) {
  const Map& map = args.map;
  const int64_t columns = map.width / 2, row = map.width * map.channels;
  for (int64_t i = 0; i < map.count() / 4; ++i) {
    const int64_t c = i % map.channels, column = i / map.channels % columns;
    const int64_t line = i / map.channels / columns;  // rows of windows of all images
    const int64_t first = 2 * (line * row + column * map.channels) + c;
    const int64_t window[4] = {first, first + map.channels, first + row,
                               first + row + map.channels};
    if (args.gradient) {
      const float dx = 0.25F * load_as_float(args.in, args.type, i);
      for (const int64_t at : window) store_from_float(args.out, args.type, at, dx);
    } else {
      float sum = 0;
      for (const int64_t at : window) sum += load_as_float(args.in, args.type, at);
      store_from_float(args.out, args.type, i, 0.25F * sum);
    }
  }
}

}  // namespace adagp::cuda
