// The average pool's definition, in the order of the kernel's additions.

#include "adagp/gpu/cuda/conv/average_pool.h"

#include <cmath>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

namespace adagp::cuda {
namespace {

int64_t near(int64_t at, int64_t n) {
  return 1 + (at > 0 ? 1 : 0) + (at + 1 < n ? 1 : 0);
}

// By how much the window around a position is divided.
float size_of_window(const AveragePoolArgs& a, int64_t y, int64_t x) {
  if (a.count_padding) return 9;
  return static_cast<float>(near(y, a.map.height) * near(x, a.map.width));
}

float row_sum(const AveragePoolArgs& a, int64_t image, int64_t y, int64_t x, int64_t c) {
  float sum = 0;
  if (y < 0 || y >= a.map.height) return sum;
  for (int64_t at = x - 1; at <= x + 1; ++at) {
    if (at < 0 || at >= a.map.width) continue;
    const int64_t from = ((image * a.map.height + y) * a.map.width + at) * a.map.channels + c;
    const float weight = a.gradient ? 1.0F / size_of_window(a, y, at) : 1.0F;
    sum = std::fma(load_as_float(a.in, a.type, from), weight, sum);
  }
  return sum;
}

}  // namespace

bool average_pool_fits(const Map& map) {
  return map.channels % plan::kLanes == 0;
}

void reference::average_pool(const AveragePoolArgs& args) {
  const Map& map = args.map;
  for (int64_t i = 0; i < map.count(); ++i) {
    const int64_t c = i % map.channels, x = i / map.channels % map.width;
    const int64_t y = i / map.channels / map.width % map.height;
    const int64_t image = i / map.channels / map.width / map.height;
    const float sum = row_sum(args, image, y - 1, x, c) + row_sum(args, image, y, x, c) +
                      row_sum(args, image, y + 1, x, c);
    const float by = args.gradient ? 1.0F : size_of_window(args, y, x);
    store_from_float(args.out, args.type, i, sum / by);
  }
}

}  // namespace adagp::cuda
