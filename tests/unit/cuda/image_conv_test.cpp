// The references of the first convolution's kernels against ATen, and where the kernels look for
// their numbers.

#include "adagp/gpu/cuda/conv/image_conv.h"

#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/conv/image_conv_plan.h"

namespace adagp::cuda {
namespace {

const Map kImageMaps[] = {{2, 8, 8, 3}, {1, 3, 16, 3}, {3, 14, 24, 3}, {1, 8, 2, 3}, {2, 1, 32, 3}};

void expect_bf16_of(const at::Tensor& got, const at::Tensor& expected, const char* what) {
  // Half a unit of the eighth bit of each element; fp32 sums.
  const double sums = 2e-6 * expected.abs().max().item<double>() + 1e-6;
  EXPECT_TRUE(at::allclose(got.to(at::kDouble), expected, 1.0 / 256, sums)) << what;
}

TEST(ImageConv, TheReferenceIsAtensConvolutionAndItsGradient) {
  at::manual_seed(71);
  for (const Map& map : kImageMaps) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const int64_t filters : {32, 64}) {
        SCOPED_TRACE(testing::Message() << map.batch << "x" << map.height << "x" << map.width
                                        << ", " << filters << " filters " << type);
        const at::Tensor x = at::randn({map.batch, map.height, map.width, 3}).to(type);
        // Memory order of the kernels: filter, row, column, channel.
        const at::Tensor weight = at::randn({filters, 3, 3, 3}).to(at::kBFloat16);
        const at::Tensor dy =
            at::randn({map.batch, map.height, map.width, filters}).to(at::kBFloat16);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const at::Tensor y = at::full_like(dy, nan), dweight = at::full_like(weight, nan);
        ImageConvArgs args;
        args.x_type = type == at::kFloat ? Type::kFloat : Type::kBFloat16;
        args.map = map;
        args.filters = static_cast<int>(filters);
        args.x = x.const_data_ptr();
        args.weight = weight.const_data_ptr();
        args.dy = dy.const_data_ptr();
        args.y = y.mutable_data_ptr();
        args.dweight = dweight.mutable_data_ptr();
        ASSERT_TRUE(image_conv_fits(map, filters));
        reference::image_conv_forward(args);
        reference::image_conv_weight_gradient(args);

        const auto planes = [](const at::Tensor& t) {
          return t.to(at::kBFloat16).to(at::kDouble).permute({0, 3, 1, 2}).contiguous();
        };
        const at::Tensor input = planes(x), kernel = planes(weight);
        const auto [of_x, of_weight, of_bias] =
            at::convolution_backward(planes(dy), input, kernel, at::OptionalIntArrayRef(), {1, 1},
                                     {1, 1}, {1, 1}, false, {0, 0}, 1, {false, true, false});
        expect_bf16_of(y, at::conv2d(input, kernel, {}, {1, 1}, {1, 1}).permute({0, 2, 3, 1}),
                       "output");
        expect_bf16_of(dweight, of_weight.permute({0, 2, 3, 1}), "gradient of the weight");
      }
    }
  }
}

TEST(ImageConv, FitsImagesThatDivideIntoBands) {
  EXPECT_TRUE(image_conv_fits({256, 32, 32, 3}, 64));
  EXPECT_TRUE(image_conv_fits({1, 224, 224, 3}, 32));
  EXPECT_TRUE(image_conv_fits({100, 28, 28, 3}, 32)) << "bands of four rows";
  EXPECT_FALSE(image_conv_fits({256, 32, 32, 3}, 48));
  EXPECT_FALSE(image_conv_fits({256, 32, 32, 3}, 128));
  EXPECT_FALSE(image_conv_fits({256, 32, 32, 1}, 64));
  EXPECT_FALSE(image_conv_fits({256, 32, 33, 3}, 64)) << "an odd width";
  EXPECT_FALSE(image_conv_fits({256, 31, 24, 3}, 64)) << "31 rows";
  EXPECT_FALSE(image_conv_fits({0, 32, 32, 3}, 64));
  EXPECT_FALSE(image_conv_fits({1, 16, 4096, 3}, 64)) << "a band beyond shared memory";
  EXPECT_FALSE(image_conv_fits({1 << 21, 32, 32, 3}, 64)) << "too many positions";
}

TEST(ImageConv, EveryBandBelongsToOneBlock) {
  for (const int64_t batch : {1, 65, 67, 256, 1000}) {
    const image_conv::Bands bands = image_conv::bands_of({batch, 32, 32, 3});
    EXPECT_EQ(bands.rows, 8);
    EXPECT_EQ(bands.units, 4 * batch);
    EXPECT_LE(bands.blocks, image_conv::kMostBlocks);
    EXPECT_EQ(bands.first_unit(0), 0);
    EXPECT_EQ(bands.first_unit(bands.blocks), bands.units);
    for (int block = 0; block < bands.blocks; ++block) {
      const int units = bands.first_unit(block + 1) - bands.first_unit(block);
      EXPECT_GE(units, std::max(1, bands.units / bands.blocks));
      EXPECT_LE(units, bands.units / bands.blocks + 1);
    }
    EXPECT_EQ(image_conv_workspace({batch, 32, 32, 3}, 64), bands.blocks * 64 * 32);
  }
}

// A band is brought to shared memory as the kernels do it, then every tap of every position is the
// element of the image it should be.
TEST(ImageConv, TapsAreFoundInTheStagedBand) {
  for (const Map& map : kImageMaps) {
    const image_conv::Bands b = image_conv::bands_of(map);
    const int line = 3 * b.width;
    for (int band = 0; band < static_cast<int>(map.height) / b.rows; ++band) {
      // Elements of the image by their number from 1 on; 0 around it.
      std::vector<int> staged(static_cast<size_t>(b.elements()));
      for (int i = 0; i < b.all_pairs(); ++i) {
        const int row = 2 * i / line, y = band * b.rows + row - 1;
        EXPECT_EQ(plan::quotient(static_cast<uint32_t>(i), b.pairs), static_cast<uint32_t>(row));
        if (y < 0 || y >= map.height) continue;
        const int at = image_conv::staged_pair(i, row);
        EXPECT_EQ(at % 2, 0);
        for (int k = 0; k < 2; ++k) {
          staged.at(static_cast<size_t>(at + k)) = (band * b.rows - 1) * line + 2 * i + k + 1;
        }
      }
      for (int p = 0; p < b.rows * b.width; ++p) {
        for (int tap = 0; tap < image_conv::kDepth; ++tap) {
          const int at =
              image_conv::staged_position(p, p / b.width) + image_conv::staged_tap(tap, b.pitch());
          const int found = staged.at(static_cast<size_t>(at));
          if (tap >= image_conv::kTaps) continue;  // only has to be inside
          const int y = band * b.rows + p / b.width + tap / 9 - 1;
          const int x = p % b.width + tap / 3 % 3 - 1;
          const bool inside = y >= 0 && y < map.height && x >= 0 && x < b.width;
          EXPECT_EQ(found, inside ? y * line + 3 * x + tap % 3 + 1 : 0);
        }
      }
    }
  }
}

TEST(ImageConv, EveryFilterAndTapHasOnePlace) {
  for (const int filters : {32, 64}) {
    std::set<int> columns;
    for (int j = 0; j < filters / 8; ++j) {
      for (int column = 0; column < 8; ++column) columns.insert(image_conv::filter_of(j, column));
    }
    EXPECT_EQ(static_cast<int>(columns.size()), filters);
    EXPECT_EQ(*columns.rbegin(), filters - 1);
    std::set<std::pair<int, int>> sums;
    for (int lane = 0; lane < 32; ++lane) {
      for (int value = 0; value < filters; ++value) {
        const auto place = image_conv::gradient_place(lane, value, filters);
        EXPECT_TRUE(place.filter >= 0 && place.filter < filters);
        EXPECT_TRUE(place.tap >= 0 && place.tap < image_conv::kDepth);
        sums.insert({place.filter, place.tap});
      }
    }
    EXPECT_EQ(static_cast<int>(sums.size()), filters * image_conv::kDepth);
  }
}

}  // namespace
}  // namespace adagp::cuda
