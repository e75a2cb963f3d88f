// Do boxes go where the pixels go?

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "adagp/engine/data/image/letterbox.h"

namespace adagp::data {
namespace {

// A black picture with a white rectangle.
std::vector<uint8_t> picture(int64_t height, int64_t width, const core::Box& white) {
  std::vector<uint8_t> rgb(static_cast<size_t>(height * width * 3));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const auto px = static_cast<double>(x), py = static_cast<double>(y);
      const bool inside =
          px >= white.left && px < white.right && py >= white.top && py < white.bottom;
      for (int64_t c = 0; c < 3; ++c) {
        rgb[static_cast<size_t>((y * width + x) * 3 + c)] = inside ? 255 : 0;
      }
    }
  }
  return rgb;
}

core::Box white_part(const std::vector<uint8_t>& canvas, int64_t size) {
  core::Box box{1e9, 1e9, -1, -1};
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      if (canvas[static_cast<size_t>((y * size + x) * 3)] <= 191) continue;  // grey is 128
      const auto px = static_cast<double>(x), py = static_cast<double>(y);
      box = {std::min(box.left, px), std::min(box.top, py), std::max(box.right, px + 1),
             std::max(box.bottom, py + 1)};
    }
  }
  return box;
}

TEST(Letterbox, FitsTheLongSideAndCentresTheShortOne) {
  const Placement p = letterbox(50, 100, 64);
  EXPECT_EQ(p.width, 64);
  EXPECT_EQ(p.height, 32);
  EXPECT_EQ(p.top, 16);
  EXPECT_EQ(p.left, 0);
  const auto box = on_canvas({10, 10, 60, 30}, p);
  ASSERT_TRUE(box);
  EXPECT_EQ(*box, (core::Box{6.4, 22.4, 38.4, 35.2}));
}

TEST(Letterbox, APictureOfTheRightSizeIsUntouched) {
  const auto rgb = picture(32, 32, {3, 5, 20, 9});
  std::vector<uint8_t> canvas(rgb.size());
  draw({rgb.data(), 32, 32, 96}, letterbox(32, 32, 32), canvas.data());
  EXPECT_EQ(canvas, rgb);
}

TEST(Letterbox, JitteredBoxesFollowTheirPixels) {
  const core::Box white{30, 20, 70, 44};
  const auto rgb = picture(80, 120, white);
  core::Rng rng(5);
  std::vector<uint8_t> canvas(96 * 96 * 3);
  int flips = 0, gone = 0;
  for (int i = 0; i < 200; ++i) {
    const Placement p = jittered(80, 120, 96, {0.8, 0.5, true}, rng);
    flips += p.flip ? 1 : 0;
    draw({rgb.data(), 80, 120, 360}, p, canvas.data());
    const auto box = on_canvas(white, p);
    if (!box) {
      ++gone;
      continue;
    }
    const core::Box seen = white_part(canvas, 96);
    // Bilinear edges are up to a pixel of the larger raster wide.
    const double tolerance = 1.5;
    EXPECT_NEAR(seen.left, box->left, tolerance) << i;
    EXPECT_NEAR(seen.top, box->top, tolerance) << i;
    EXPECT_NEAR(seen.right, box->right, tolerance) << i;
    EXPECT_NEAR(seen.bottom, box->bottom, tolerance) << i;
  }
  // Half of 200 draws, 5 standard deviations of 7 either way.
  EXPECT_NEAR(flips, 100, 35);
  EXPECT_LT(gone, 60);
}

TEST(Letterbox, AnObjectMostlyCutOffIsLeftOut) {
  Placement p = letterbox(64, 64, 64);
  p.left = -40;
  EXPECT_FALSE(on_canvas({0, 0, 44, 10}, p));  // 4 of 44 columns are left
  const auto box = on_canvas({30, 0, 50, 10}, p);
  ASSERT_TRUE(box);
  EXPECT_EQ(*box, (core::Box{0, 0, 10, 10}));
}

}  // namespace
}  // namespace adagp::data
