#include "adagp/engine/data/image/augment.h"

#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/image/resize.h"
#include "adagp/engine/io/tensors.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

using Offsets = std::tuple<int64_t, int64_t, bool>;

AugmentOptions options_for(int64_t height, int64_t width) {
  AugmentOptions options;
  options.height = height;
  options.width = width;
  options.pad = 2;
  options.mean = {0.4, 0.5, 0.6};
  options.std = {0.2, 0.25, 0.3};
  return options;
}

// numpy.pad(mode="reflect") on one axis: walk outwards from the border, not repeating it.
std::vector<int64_t> padded_line(int64_t n, int64_t pad) {
  std::vector<int64_t> line;
  for (int64_t i = pad; i >= 1; --i) line.push_back(i);
  for (int64_t i = 0; i < n; ++i) line.push_back(i);
  for (int64_t i = 1; i <= pad; ++i) line.push_back(n - 1 - i);
  return line;
}

// The slow way: pad, cut a window, mirror it, normalise. float [3, H, W].
at::Tensor slow_window(const at::Tensor& image, const AugmentOptions& o, const Offsets& offsets) {
  const auto [down, right, flip] = offsets;
  const auto rows = padded_line(o.height, o.pad), columns = padded_line(o.width, o.pad);
  const auto from = image.accessor<uint8_t, 3>();
  at::Tensor out = at::empty({3, o.height, o.width}, at::kFloat);
  auto to = out.accessor<float, 3>();
  for (int64_t y = 0; y < o.height; ++y) {
    for (int64_t x = 0; x < o.width; ++x) {
      const int64_t column = columns[static_cast<size_t>(right + (flip ? o.width - 1 - x : x))];
      for (int64_t c = 0; c < 3; ++c) {
        const double value = from[rows[static_cast<size_t>(down + y)]][column][c] / 255.0;
        const auto k = static_cast<size_t>(c);
        to[c][y][x] = static_cast<float>((value - o.mean[k]) / o.std[k]);
      }
    }
  }
  return out;
}

// Which of all possible windows this is; fails unless it is exactly one.
Offsets find_window(const at::Tensor& made, const at::Tensor& image, const AugmentOptions& o) {
  std::vector<Offsets> matches;
  for (int64_t down = 0; down <= 2 * o.pad; ++down) {
    for (int64_t right = 0; right <= 2 * o.pad; ++right) {
      for (const bool flip : {false, true}) {
        const Offsets offsets{down, right, flip};
        // Floats of about 2: one rounding each way.
        if (at::allclose(made, slow_window(image, o, offsets), 0, 1e-6)) matches.push_back(offsets);
      }
    }
  }
  EXPECT_EQ(matches.size(), 1U);
  return matches.empty() ? Offsets{} : matches.front();
}

TEST(Augment, EveryExampleIsOneReflectedWindowAndAllWindowsOccur) {
  const auto options = options_for(6, 7);
  const at::Tensor images = random_images(400, 6, 7);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 400; ++i) indices.push_back(399 - i);
  const at::Tensor batch = augment_resident(images, indices, options, 5, 2);
  ASSERT_EQ(batch.sizes(), at::IntArrayRef({400, 3, 6, 7}));
  EXPECT_TRUE(batch.is_contiguous(at::MemoryFormat::ChannelsLast));
  std::set<Offsets> seen;
  for (int64_t b = 0; b < 400; ++b) seen.insert(find_window(batch[b], images[399 - b], options));
  // 50 windows, 400 draws: the chance to miss one is 50 * 0.98^400 = 1.5 %, and the seed is fixed.
  EXPECT_GE(seen.size(), 49U);
}

TEST(Augment, IndexOperationsMakeTheSameBatch) {
  const at::Tensor images = random_images(20, 6, 7);
  for (const bool train : {true, false}) {
    auto options = options_for(6, 7);
    options.train = train;
    const auto one = augment_resident(images, {4, 19, 0, 4}, options, 5, 2);
    const auto other = augment_by_index(images, {4, 19, 0, 4}, options, 5, 2);
    EXPECT_TRUE(other.is_contiguous(at::MemoryFormat::ChannelsLast));
    // x * slope + offset in float against a table made in double: a few units of 1e-7.
    EXPECT_LT((one - other).abs().max().item<double>(), 2e-6);
  }
}

TEST(Augment, TheDrawDependsOnSeedEpochAndIndexAlone) {
  const auto options = options_for(6, 6);
  const at::Tensor images = random_images(1, 6, 6).expand({64, 6, 6, 3}).contiguous();
  const auto batch = augment_resident(images, {3, 7, 11}, options, 5, 2);
  const auto again = augment_resident(images, {11, 3}, options, 5, 2);
  EXPECT_TRUE(batch[2].equal(again[0]));
  EXPECT_TRUE(batch[0].equal(again[1]));

  std::vector<int64_t> all(64);
  for (int64_t i = 0; i < 64; ++i) all[static_cast<size_t>(i)] = i;
  const auto base = augment_resident(images, all, options, 5, 2);
  EXPECT_FALSE(base.equal(augment_resident(images, all, options, 5, 3)));
  EXPECT_FALSE(base.equal(augment_resident(images, all, options, 6, 2)));
  EXPECT_FALSE(base.equal(base[0].expand_as(base)));
}

TEST(Augment, TestImagesAreOnlyNormalised) {
  auto options = options_for(5, 5);
  options.train = false;
  const at::Tensor images = random_images(3, 5, 5);
  const at::Tensor mean = at::tensor({0.4, 0.5, 0.6}), std = at::tensor({0.2, 0.25, 0.3});
  const at::Tensor expected =
      ((images.to(at::kDouble) / 255 - mean) / std).permute({0, 3, 1, 2}).to(at::kFloat);
  const at::Tensor batch = augment_resident(images, {0, 1, 2}, options, 1, 1);
  EXPECT_LT((batch - expected).abs().max().item<double>(), 1e-6);
  EXPECT_TRUE(normalise(images, options).equal(batch));
}

TEST(Augment, OneImageGetsTheDrawsOfTheBatch) {
  const auto options = options_for(6, 7);
  const at::Tensor images = random_images(8, 6, 7);
  const at::Tensor batch = augment_resident(images, {6, 1}, options, 9, 4);
  const at::Tensor singles = at::stack(
      {augment_one(images[6], 6, options, 9, 4), augment_one(images[1], 1, options, 9, 4)});
  EXPECT_TRUE(normalise(singles, options).equal(batch));
}

TEST(Augment, ResizingAgreesWithTorchvision) {
  const auto golden =
      io::load_tensors(fs::path(ADAGP_SOURCE_DIR) / "tests/golden/fixtures" / "resize.safetensors");
  auto options = options_for(28, 28);
  options.train = false;
  for (const std::string name : {"wide", "tall", "small"}) {
    const at::Tensor image = golden.tensors.at(name).contiguous();
    const at::Tensor test = augment_one(image, 0, options, 0, 0);
    at::Tensor resized = at::empty({16, 24, 3}, at::kByte);
    resize({image.const_data_ptr<uint8_t>(), image.size(0), image.size(1), image.size(1) * 3},
           {16, 24, 0, 0, 16, 24}, resized.mutable_data_ptr<uint8_t>());
    const std::array<std::pair<at::Tensor, at::Tensor>, 2> pairs{
        {{test, golden.tensors.at(name + ".test")},
         {resized, golden.tensors.at(name + ".resized")}}};
    for (const auto& [ours, theirs] : pairs) {
      ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
      const at::Tensor gap = (ours.to(at::kInt) - theirs.to(at::kInt)).abs();
      // Torchvision rounds to bytes between the two passes, we do not: a level apart at most.
      EXPECT_LE(gap.max().item<int>(), 1) << name;
    }
  }
}

// On a picture whose red is x and green is y, the crop can be read off the result.
TEST(Augment, ResizedCropsKeepTorchvisionsAreasAndRatios) {
  auto options = options_for(32, 32);
  options.crop = Crop::kResized;
  options.flip = false;
  at::Tensor image = at::zeros({200, 240, 3}, at::kByte);
  image.select(2, 0).copy_(at::arange(240).unsqueeze(0).expand({200, 240}));
  image.select(2, 1).copy_(at::arange(200).unsqueeze(1).expand({200, 240}));
  double smallest = 1, largest = 0, sum = 0;
  const int64_t draws = 300;
  for (int64_t i = 0; i < draws; ++i) {
    const at::Tensor crop = augment_one(image, i, options, 1, 0).to(at::kDouble);
    // Inner pixels 4 .. 27 are 23 steps of width / 32 apart.
    const double width = (crop[16][27][0] - crop[16][4][0]).item<double>() * 32 / 23;
    const double height = (crop[27][16][1] - crop[4][16][1]).item<double>() * 32 / 23;
    const double area = width * height / (200 * 240);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    sum += area;
    // A level of rounding at each end is 3 % of the narrowest crop.
    EXPECT_GT(width / height, 0.75 * 0.95);
    EXPECT_LT(width / height, 4.0 / 3.0 / 0.95);
  }
  EXPECT_GT(smallest, 0.08 * 0.93);
  EXPECT_LT(smallest, 0.12);
  EXPECT_LT(largest, 1.03);
  EXPECT_GT(largest, 0.85);
  // Uniform areas have mean 0.54; large ones are rejected more often. Standard error 0.015.
  EXPECT_NEAR(sum / draws, 0.51, 0.06);
}

TEST(Augment, WrongOptionsAreUsageErrors) {
  const at::Tensor images = random_images(2, 6, 6);
  auto options = options_for(6, 6);
  expect_part(message_of<UsageError>([] { parse_crop("padd"); }),
              "unknown crop 'padd'; did you mean 'pad'");
  options.pad = 6;
  expect_part(message_of<UsageError>([&] { augment_resident(images, {0}, options, 0, 0); }),
              "pad 6");
  options.pad = 5;
  EXPECT_NO_THROW(augment_resident(images, {0}, options, 0, 0));
}

}  // namespace
}  // namespace adagp::data::testing
