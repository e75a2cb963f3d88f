#include "adagp/engine/data/synthetic/images.h"

#include <map>
#include <set>

#include "adagp/base/core/error.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

std::vector<uint8_t> drawn(const SyntheticOptions& options, bool test, int64_t index) {
  std::vector<uint8_t> rgb(static_cast<size_t>(options.size * options.size * 3));
  draw_synthetic(options, test, index, rgb.data());
  return rgb;
}

TEST(Synthetic, AnImageIsAPureFunctionOfSeedHalfAndIndex) {
  Config config;
  config.synthetic_train = 60;
  config.synthetic_test = 20;
  config.synthetic_size = 16;
  const Splits splits = open(config);
  const SyntheticOptions options{16, 1234, 1.0};
  for (const int64_t i : {59, 0, 31}) {
    const at::Tensor image = splits.train->image(i);
    const auto* p = image.const_data_ptr<uint8_t>();
    EXPECT_EQ(std::vector<uint8_t>(p, p + image.numel()), drawn(options, false, i));
  }
  EXPECT_NE(drawn({16, 1234, 1.0}, false, 0), drawn({16, 1235, 1.0}, false, 0));
  EXPECT_NE(drawn({16, 1234, 1.0}, false, 0), drawn({16, 1234, 1.0}, false, 10));
}

TEST(Synthetic, HalvesShareNoImageAndClassesAreBalanced) {
  Config config;
  config.limit = 300;
  config.test_limit = 100;
  const Splits splits = open(config);
  ASSERT_EQ(splits.train->size(), 300);
  ASSERT_EQ(splits.test->size(), 100);
  EXPECT_EQ(splits.classes.size(), 10U);
  std::set<std::string> seen;
  for (const auto& half : {splits.train, splits.test}) {
    std::map<int64_t, int64_t> counts;
    for (int64_t i = 0; i < half->size(); ++i) {
      ++counts[half->labels()[static_cast<size_t>(i)]];
      const at::Tensor image = half->image(i);
      const auto* p = reinterpret_cast<const char*>(image.const_data_ptr<uint8_t>());
      seen.emplace(p, static_cast<size_t>(image.numel()));
    }
    for (const auto& [label, count] : counts) EXPECT_EQ(count, half->size() / 10) << label;
  }
  EXPECT_EQ(seen.size(), 400U);
}

// Clean stripes that run across change from row to row, upright ones from column to column.
TEST(Synthetic, StripesRunTheWayTheirNamesSay) {
  const auto energy = [](const at::Tensor& image, int64_t axis) {
    return image.to(at::kFloat).diff(1, axis).square().mean().item<double>();
  };
  for (const int64_t size : {8, 16, 32}) {
    Config config;
    config.synthetic_noise = 0;
    config.synthetic_size = size;
    config.limit = 400;
    const Splits splits = open(config);
    for (const auto& [name, along, across] :
         {std::tuple{"flat-stripes", 1, 0}, std::tuple{"upright-stripes", 0, 1}}) {
      int64_t right = 0, count = 0;
      for (int64_t i = 0; i < 400; ++i) {
        const auto label = static_cast<size_t>(splits.train->labels()[static_cast<size_t>(i)]);
        if (splits.classes[label] != name) continue;
        const at::Tensor image = splits.train->image(i);
        right += energy(image, across) > energy(image, along) ? 1 : 0;
        ++count;
      }
      ASSERT_EQ(count, 40);
      // The patch has an outline of its own, which at 8x8 can outweigh a single stripe.
      EXPECT_GE(right, 36) << name << " at " << size;
    }
  }
}

TEST(Synthetic, MeasuredMeanAndDeviationNormaliseTheTrainingImages) {
  const Splits splits = open(Config{});
  const at::Tensor values = splits.train->resident().to(at::kDouble).reshape({-1, 3}) / 255;
  for (int64_t c = 0; c < 3; ++c) {
    const at::Tensor channel = values.select(1, c);
    // Kept to four digits.
    EXPECT_NEAR(splits.mean[static_cast<size_t>(c)], channel.mean().item<double>(), 6e-5);
    EXPECT_NEAR(splits.std[static_cast<size_t>(c)], channel.std(false).item<double>(), 6e-5);
  }
  EXPECT_EQ(splits.height, 32);
}

TEST(Synthetic, WrongOptionsAreUsageErrors) {
  Config config;
  config.synthetic_size = 7;
  expect_part(message_of<UsageError>([&] { open(config); }), "synthetic_size: 7");
  config = {};
  config.name = "synthetik";
  expect_part(message_of<UsageError>([&] { open(config); }), "did you mean 'synthetic'");
  config = {};
  config.mean = {0.5, 0.5};
  expect_part(message_of<UsageError>([&] { open(config); }), "data.mean: 2 numbers");
  config = {};
  config.std = {0};
  EXPECT_THROW(open(config), UsageError);
  config.std = {0.3};
  EXPECT_EQ(open(config).std, (std::vector<double>{0.3, 0.3, 0.3}));
}

}  // namespace
}  // namespace adagp::data::testing
