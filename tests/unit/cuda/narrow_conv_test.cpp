// The references of the kernels of DenseNet's 3x3 convolutions against ATen, and where the kernels
// look for their numbers.

#include "adagp/gpu/cuda/conv/narrow_conv.h"

#include <limits>
#include <set>
#include <tuple>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/conv/narrow_conv_plan.h"

namespace adagp::cuda {
namespace {

constexpr int64_t kH100 = 227 * 1024, kA100 = 163 * 1024, kSmall = 99 * 1024;

TEST(NarrowConv, TheReferenceIsAtensConvolutionAndItsGradient) {
  at::manual_seed(75);
  for (const Map& map : {Map{2, 4, 4, 128}, Map{1, 5, 7, 128}, Map{3, 1, 2, 128}}) {
    const auto random = [](at::IntArrayRef shape) { return at::randn(shape).to(at::kBFloat16); };
    const at::Tensor x = random({map.batch, map.height, map.width, 128});
    // Memory order of the kernels: filter, row, column, channel.
    const at::Tensor weight = random({32, 3, 3, 128});
    const at::Tensor dy = random({map.batch, map.height, map.width, 32});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const at::Tensor y = at::full_like(dy, nan), dweight = at::full_like(weight, nan);
    NarrowConvArgs args;
    args.map = map;
    args.x = x.const_data_ptr();
    args.weight = weight.const_data_ptr();
    args.dy = dy.const_data_ptr();
    args.y = y.mutable_data_ptr();
    args.dweight = dweight.mutable_data_ptr();
    reference::narrow_conv_forward(args);
    reference::narrow_conv_weight_gradient(args);

    const auto planes = [](const at::Tensor& t) {
      return t.to(at::kDouble).permute({0, 3, 1, 2}).contiguous();
    };
    const at::Tensor input = planes(x), kernel = planes(weight);
    const at::Tensor of_weight = std::get<1>(
        at::convolution_backward(planes(dy), input, kernel, at::OptionalIntArrayRef(), {1, 1},
                                 {1, 1}, {1, 1}, false, {0, 0}, 1, {false, true, false}));
    // Half a unit of the eighth bit of each element; fp32 sums of up to 1152 products.
    const auto close = [](const at::Tensor& got, const at::Tensor& expected) {
      const double sums = 1e-5 * expected.abs().max().item<double>();
      return at::allclose(got.to(at::kDouble), expected, 1.0 / 256, sums);
    };
    EXPECT_TRUE(close(y, at::conv2d(input, kernel, {}, {1, 1}, {1, 1}).permute({0, 2, 3, 1})));
    EXPECT_TRUE(close(dweight, of_weight.permute({0, 2, 3, 1})));
  }
}

TEST(NarrowConv, FitsMapsWhereABlockHasTheMemory) {
  EXPECT_TRUE(narrow_conv_fits({256, 32, 32, 128}, 32, kH100));
  EXPECT_TRUE(narrow_conv_fits({256, 32, 32, 128}, 32, kA100));
  EXPECT_FALSE(narrow_conv_fits({256, 32, 32, 128}, 32, kSmall)) << "the weights take most of it";
  EXPECT_TRUE(narrow_conv_fits({1, 1, 1, 128}, 32, kA100));
  EXPECT_TRUE(narrow_conv_fits({256, 56, 56, 128}, 32, kH100));
  EXPECT_FALSE(narrow_conv_fits({1, 4, 900, 128}, 32, kH100)) << "rows too long";
  EXPECT_FALSE(narrow_conv_fits({256, 32, 32, 192}, 32, kH100));
  EXPECT_FALSE(narrow_conv_fits({256, 32, 32, 128}, 48, kH100));
  EXPECT_FALSE(narrow_conv_fits({0, 32, 32, 128}, 32, kH100));
  EXPECT_FALSE(narrow_conv_fits({1 << 21, 32, 32, 128}, 32, kH100)) << "too many positions";
}

TEST(NarrowConv, LargeMapsHaveLargeUnitsAndSmallMapsFillTheDevice) {
  using namespace narrow_conv;
  EXPECT_EQ(forward_tiles({256, 32, 32, 128}, kH100), 4);
  EXPECT_EQ(forward_tiles({256, 32, 32, 128}, kA100), 2);
  EXPECT_EQ(forward_tiles({256, 8, 8, 128}, kH100), 1);
  EXPECT_EQ(forward_units({256, 8, 8, 128}, 1).blocks, 128);
  EXPECT_EQ(forward_tiles({256, 32, 32, 128}, kSmall), 0);
}

TEST(NarrowConv, EveryPositionBelongsToOneBlock) {
  for (const int64_t batch : {1, 65, 256, 1000}) {
    for (const int64_t side : {4, 9, 32}) {
      const Map map{batch, side, side, 128};
      for (const narrow_conv::Units& units :
           {narrow_conv::forward_units(map, 1), narrow_conv::forward_units(map, 4),
            narrow_conv::gradient_units(map)}) {
        EXPECT_EQ(units.first_unit(0), 0);
        EXPECT_EQ(units.first_unit(units.blocks), units.count);
        EXPECT_GE(int64_t{units.count} * units.size, map.positions());
        EXPECT_LT(int64_t{units.count - 1} * units.size, map.positions());
        EXPECT_LE(units.blocks, narrow_conv::kMultiprocessors);
        EXPECT_EQ(units.size % narrow_conv::kTile, 0);
      }
      EXPECT_EQ(narrow_conv_workspace(map), narrow_conv::gradient_units(map).blocks * 32 * 9 * 128);
    }
  }
}

// A tap is inside where the image is, and is found behind the position's own place.
TEST(NarrowConv, TapsAreFoundWhereTheyAreInside) {
  for (const Map& map : {Map{3, 4, 4, 128}, Map{2, 5, 7, 128}, Map{4, 1, 3, 128}, Map{3, 3, 1, 128},
                         Map{5, 1, 1, 128}}) {
    const narrow_conv::Units units = narrow_conv::forward_units(map, 1);
    for (int64_t p = 0; p < map.positions(); ++p) {
      const int64_t row = p / map.width % map.height, column = p % map.width;
      const uint32_t inside = narrow_conv::taps_inside(units, static_cast<uint32_t>(p));
      for (int tap = 0; tap < 9; ++tap) {
        const int64_t y = row + tap / 3 - 1, x = column + tap % 3 - 1;
        const bool expected = y >= 0 && y < map.height && x >= 0 && x < map.width;
        EXPECT_EQ((inside >> tap & 1) != 0, expected) << p << " " << tap;
        if (!expected) continue;
        const int64_t found = p - units.halo() + narrow_conv::tap_offset(tap, units.width);
        EXPECT_EQ(found, p + (tap / 3 - 1) * map.width + tap % 3 - 1);
        EXPECT_GE(found, 0);
        EXPECT_LT(found, map.positions());
      }
    }
    EXPECT_LT(narrow_conv::tap_offset(8, units.width), 2 * units.halo() + 1);
  }
}

template <int kRowBytes>
void expect_swizzle() {
  using narrow_conv::swizzled;
  std::set<int> places;
  for (int row = 0; row < 32; ++row) {
    for (int part = 0; part < kRowBytes / 16; ++part) {
      const int at = swizzled<kRowBytes>(row, part);
      places.insert(at);
      EXPECT_EQ(at / kRowBytes, row);
      EXPECT_EQ(swizzled<kRowBytes>(row + 16, part) - at, 16 * kRowBytes);
    }
  }
  EXPECT_EQ(static_cast<int>(places.size()), 32 * kRowBytes / 16);
  // Eight rows of 16 bytes at once: all 32 banks of 4 bytes.
  for (int first = 0; first < 8; ++first) {
    for (int part = 0; part < kRowBytes / 16; ++part) {
      std::set<int> banks;
      for (int i = 0; i < 8; ++i) banks.insert(swizzled<kRowBytes>(first + i, part) / 16 % 8);
      EXPECT_EQ(banks.size(), 8U) << kRowBytes << " " << first << " " << part;
    }
  }
}

TEST(NarrowConv, EightRowsAreInDifferentBanks) {
  expect_swizzle<64>();
  expect_swizzle<128>();
  expect_swizzle<256>();
  // How the kernels go to the next product.
  for (int row = 0; row < 8; ++row) {
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(narrow_conv::swizzled<128>(row, 1) ^ 32 * step,
                narrow_conv::swizzled<128>(row, 1 + 2 * step));
    }
  }
}

TEST(NarrowConv, EveryFilterTapAndChannelHasOnePlace) {
  std::set<int> filters;
  for (int j = 0; j < 4; ++j) {
    for (int column = 0; column < 8; ++column) filters.insert(narrow_conv::filter_of(j, column));
    // Of the two columns of a lane: neighbours.
    EXPECT_EQ(narrow_conv::filter_of(j, 3), narrow_conv::filter_of(j, 2) + 1);
  }
  EXPECT_EQ(static_cast<int>(filters.size()), 32);
  EXPECT_EQ(*filters.rbegin(), 31);
  std::set<std::tuple<int, int, int>> sums;
  for (int lane = 0; lane < 32; ++lane) {
    for (int value = 0; value < narrow_conv::kSums; ++value) {
      const auto place = narrow_conv::gradient_place(lane, value);
      EXPECT_TRUE(place.filter >= 0 && place.filter < 32);
      EXPECT_TRUE(place.tap >= 0 && place.tap < 9);
      EXPECT_TRUE(place.channel >= 0 && place.channel < 16);
      sums.insert({place.filter, place.tap, place.channel});
    }
  }
  EXPECT_EQ(static_cast<int>(sums.size()), 32 * 9 * 16);
}

}  // namespace
}  // namespace adagp::cuda
