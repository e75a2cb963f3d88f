#include "adagp/cuda/image_conv.h"

#include <cmath>
#include <vector>

#include "adagp/cuda/bf16.h"

namespace adagp::cuda {
namespace {

constexpr int64_t kImageTaps = 27;

// The window around a position, as the kernels take it: rounded, zero outside the image.
struct ImageWindow {
  float tap[kImageTaps] = {};

  ImageWindow(const ImageConvArgs& a, int64_t position) {
    const Map& map = a.map;
    const int64_t column = position % map.width, row = position / map.width % map.height;
    const int64_t image = position / map.width / map.height;
    for (int64_t t = 0; t < kImageTaps; ++t) {
      const int64_t y = row + t / 9 - 1, x = column + t / 3 % 3 - 1;
      if (y < 0 || y >= map.height || x < 0 || x >= map.width) continue;
      const int64_t from = ((image * map.height + y) * map.width + x) * 3 + t % 3;
      tap[t] = rounded_to_bf16(load_as_float(a.x, a.x_type, from));
    }
  }
};

}  // namespace

void reference::image_conv_forward(const ImageConvArgs& args) {
  for (int64_t i = 0; i < args.map.positions(); ++i) {
    const ImageWindow window(args, i);
    for (int64_t f = 0; f < args.filters; ++f) {
      float sum = 0;
      for (int64_t t = 0; t < kImageTaps; ++t) {
        const float weight = load_as_float(args.weight, Type::kBFloat16, f * kImageTaps + t);
        sum = std::fmaf(window.tap[t], weight, sum);
      }
      store_from_float(args.y, Type::kBFloat16, i * args.filters + f, sum);
    }
  }
}

void reference::image_conv_weight_gradient(const ImageConvArgs& args) {
  // Up to a million products each: one float alone would lose what the kernels' many sums keep.
  std::vector<double> sums(static_cast<size_t>(args.filters * kImageTaps));
  for (int64_t i = 0; i < args.map.positions(); ++i) {
    const ImageWindow window(args, i);
    double* sum = sums.data();
    for (int64_t f = 0; f < args.filters; ++f) {
      const double dy = load_as_float(args.dy, Type::kBFloat16, i * args.filters + f);
      for (int64_t t = 0; t < kImageTaps; ++t) *sum++ += dy * window.tap[t];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    store_from_float(args.dweight, Type::kBFloat16, static_cast<int64_t>(i),
                     static_cast<float>(sums[i]));
  }
}

}  // namespace adagp::cuda
