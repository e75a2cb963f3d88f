#include "adagp/engine/data/image/letterbox.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "adagp/engine/data/image/example_rng.h"

namespace adagp::data {
namespace {

constexpr uint8_t kGrey = 128;
constexpr double kLeastShare = 0.25;

Placement scaled_placement(int64_t height, int64_t width, int64_t size, double enlarged) {
  const auto side = static_cast<double>(size);
  const double scale =
      enlarged * std::min(side / static_cast<double>(height), side / static_cast<double>(width));
  const auto scaled = [&](int64_t length) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(length) * scale));
  };
  Placement p;
  p.size = size;
  p.from_height = height;
  p.from_width = width;
  p.height = scaled(height);
  p.width = scaled(width);
  p.top = (size - p.height) / 2;
  p.left = (size - p.width) / 2;
  return p;
}

}  // namespace

Placement letterbox(int64_t height, int64_t width, int64_t size) {
  return scaled_placement(height, width, size, 1.0);
}

Placement jittered(int64_t height, int64_t width, int64_t size, const BoxJitter& jitter,
                   core::Rng& rng) {
  const double most = std::log1p(jitter.scale);
  Placement p = scaled_placement(height, width, size, std::exp(rng.uniform(-most, most)));
  const double reach = jitter.shift * static_cast<double>(size);
  p.top += std::llround(rng.uniform(-reach, reach));
  p.left += std::llround(rng.uniform(-reach, reach));
  p.flip = jitter.flip && rng.below(2) == 1;
  return p;
}

void draw(const PixelView& picture, const Placement& p, uint8_t* canvas) {
  const auto row_bytes = static_cast<size_t>(p.size) * 3;
  std::memset(canvas, kGrey, row_bytes * static_cast<size_t>(p.size));
  // The part of the canvas that the picture covers.
  const int64_t top = std::max<int64_t>(0, p.top), left = std::max<int64_t>(0, p.left);
  const int64_t height = std::min(p.size, p.top + p.height) - top;
  const int64_t width = std::min(p.size, p.left + p.width) - left;
  if (height < 1 || width < 1) return;

  std::vector<uint8_t> part;
  const uint8_t* from = nullptr;
  int64_t stride = 0;
  if (p.height == picture.height && p.width == picture.width) {
    from = picture.rgb + (top - p.top) * picture.stride + (left - p.left) * 3;
    stride = picture.stride;
  } else {
    part.resize(static_cast<size_t>(height * width * 3));
    resize(picture, {p.height, p.width, top - p.top, left - p.left, height, width}, part.data());
    from = part.data();
    stride = width * 3;
  }
  for (int64_t y = 0; y < height; ++y) {
    uint8_t* row = canvas + static_cast<size_t>(top + y) * row_bytes;
    std::memcpy(row + left * 3, from + y * stride, static_cast<size_t>(width) * 3);
    if (p.flip) mirror_row(row, p.size);
  }
}

std::optional<core::Box> on_canvas(const core::Box& box, const Placement& p) {
  const double across = static_cast<double>(p.width) / static_cast<double>(p.from_width);
  const double down = static_cast<double>(p.height) / static_cast<double>(p.from_height);
  const auto left = static_cast<double>(p.left), top = static_cast<double>(p.top);
  const auto size = static_cast<double>(p.size);
  core::Box moved{left + box.left * across, top + box.top * down, left + box.right * across,
                  top + box.bottom * down};
  if (p.flip) moved = {size - moved.right, moved.top, size - moved.left, moved.bottom};
  const core::Box seen = core::intersection(moved, {0, 0, size, size});
  if (seen.right <= seen.left || seen.bottom <= seen.top ||
      seen.area() < kLeastShare * moved.area()) {
    return {};
  }
  return seen;
}

}  // namespace adagp::data
