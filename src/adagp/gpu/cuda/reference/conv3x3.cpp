#include "adagp/gpu/cuda/reference/conv3x3.h"

#include <cmath>
#include <vector>

#include "adagp/gpu/cuda/bf16.h"

namespace adagp::cuda {
namespace {

// What a filter sees at a position: rounded, zero outside the image.
std::vector<float> window_at(const reference::Conv3x3& c, int64_t position) {
  const Map& map = c.map;
  const int64_t column = position % map.width, row = position / map.width % map.height;
  const int64_t image = position / map.width / map.height;
  std::vector<float> out(static_cast<size_t>(9 * map.channels));
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t y = row + tap / 3 - 1, x = column + tap % 3 - 1;
    if (y < 0 || y >= map.height || x < 0 || x >= map.width) continue;
    const int64_t from = ((image * map.height + y) * map.width + x) * map.channels;
    for (int64_t channel = 0; channel < map.channels; ++channel) {
      out[static_cast<size_t>(tap * map.channels + channel)] =
          rounded_to_bf16(load_as_float(c.x, c.x_type, from + channel));
    }
  }
  return out;
}

}  // namespace

void reference::conv3x3_forward(const Conv3x3& conv) {
  for (int64_t i = 0; i < conv.map.positions(); ++i) {
    const std::vector<float> window = window_at(conv, i);
    int64_t at = 0;
    for (int64_t filter = 0; filter < conv.filters; ++filter) {
      float sum = 0;
      for (const float value : window) {
        sum = std::fmaf(value, load_as_float(conv.weight, Type::kBFloat16, at++), sum);
      }
      store_from_float(conv.y, Type::kBFloat16, i * conv.filters + filter, sum);
    }
  }
}

void reference::conv3x3_weight_gradient(const Conv3x3& conv) {
  // Up to a million products each: one float alone would lose what the kernels' many sums keep.
  std::vector<double> sums(static_cast<size_t>(conv.filters * 9 * conv.map.channels));
  for (int64_t i = 0; i < conv.map.positions(); ++i) {
    const std::vector<float> window = window_at(conv, i);
    double* sum = sums.data();
    for (int64_t filter = 0; filter < conv.filters; ++filter) {
      const double dy = load_as_float(conv.dy, Type::kBFloat16, i * conv.filters + filter);
      for (const float value : window) *sum++ += dy * value;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    store_from_float(conv.dweight, Type::kBFloat16, static_cast<int64_t>(i),
                     static_cast<float>(sums[i]));
  }
}

}  // namespace adagp::cuda
