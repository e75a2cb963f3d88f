#include "adagp/engine/data/image/example_rng.h"

#include <algorithm>

namespace adagp::data {
namespace {

// Position i of a line of n pixels whose borders are mirrors; the border itself is not repeated.
int64_t mirrored(int64_t i, int64_t n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

}  // namespace

core::Rng example_rng(uint64_t seed, int64_t epoch, int64_t index) {
  return core::Rng(core::mix({seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index)}));
}

Draw draw_pad_crop(core::Rng& rng, const AugmentOptions& options) {
  Draw draw;
  if (!options.train) return draw;
  if (options.crop == Crop::kPad) {
    draw.down = rng.below(2 * options.pad + 1) - options.pad;
    draw.right = rng.below(2 * options.pad + 1) - options.pad;
  }
  draw.flip = options.flip && rng.below(2) == 1;
  return draw;
}

void fill_window(const Draw& draw, int64_t height, int64_t width, int64_t* rows, int64_t* columns) {
  for (int64_t y = 0; y < height; ++y) rows[y] = mirrored(y + draw.down, height);
  for (int64_t x = 0; x < width; ++x) {
    columns[x] = mirrored((draw.flip ? width - 1 - x : x) + draw.right, width);
  }
}

void mirror_row(uint8_t* rgb, int64_t pixels) {
  for (uint8_t *a = rgb, *b = rgb + (pixels - 1) * 3; a < b; a += 3, b -= 3) {
    std::swap_ranges(a, a + 3, b);
  }
}

}  // namespace adagp::data
