#include <cmath>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/data/augment.h"

namespace adagp::cuda {
namespace {

int64_t mirrored(int64_t i, int64_t n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

}  // namespace

void reference::augment(const AugmentArgs& args) {
  const int64_t height = args.height, width = args.width;
  int64_t at = 0;
  for (int64_t b = 0; b < args.batch; ++b) {
    const Window& window = args.windows[b];
    args.out_labels[b] = args.labels[window.index];
    const uint8_t* image = args.images + window.index * height * width * 3;
    for (int64_t y = 0; y < height; ++y) {
      const int64_t row = mirrored(y + window.down, height);
      for (int64_t x = 0; x < width; ++x) {
        const int64_t place = (window.flip != 0 ? width - 1 - x : x) + window.right;
        const uint8_t* pixel = image + (row * width + mirrored(place, width)) * 3;
        for (int c = 0; c < 3; ++c) {
          // Rounded once, like the kernel's.
          const float value = std::fma(args.slope[c], static_cast<float>(pixel[c]), args.offset[c]);
          store_from_float(args.out, args.type, at++, value);
        }
      }
    }
  }
}

}  // namespace adagp::cuda
