// Resizing against a slow definition, and images that are decoded smaller than they are.

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/files.h"
#include "adagp/base/io/image/image.h"
#include "adagp/base/io/image/jpeg_part.h"
#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/image/resize.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/stream/loader.h"
#include "unit/temp_folder.h"

namespace adagp::data {
namespace {

// The triangle filter written down: weights of all inputs for one output.
std::vector<double> triangle_weights(int64_t in, int64_t out, int64_t position) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(scale, 1.0), centre = (position + 0.5) * scale;
  std::vector<double> weights(static_cast<size_t>(in));
  double sum = 0;
  for (int64_t j = 0; j < in; ++j) {
    const double weight = std::max(0.0, 1 - std::abs(j + 0.5 - centre) / support);
    weights[static_cast<size_t>(j)] = weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(Resize, EqualsTheTriangleFilter) {
  struct Case {
    int64_t height, width;
    ResizePlan plan;
  };
  const Case cases[] = {{29, 33, {22, 22, 0, 0, 22, 22}},   {5, 7, {16, 24, 0, 0, 16, 24}},
                        {37, 50, {25, 34, 2, 5, 22, 23}},   {100, 30, {20, 25, 3, 1, 9, 7}},
                        {1, 1, {8, 8, 0, 0, 8, 8}},         {12, 13, {12, 13, 0, 0, 12, 13}},
                        {200, 300, {33, 31, 0, 0, 33, 31}}, {40, 3, {41, 2, 0, 0, 41, 2}}};
  at::manual_seed(4);
  for (const Case& c : cases) {
    const at::Tensor image = at::randint(256, {c.height, c.width, 3}, at::kByte);
    at::Tensor made = at::empty({c.plan.height, c.plan.width, 3}, at::kByte);
    resize({image.const_data_ptr<uint8_t>(), c.height, c.width, c.width * 3}, c.plan,
           made.mutable_data_ptr<uint8_t>());
    at::Tensor down = at::empty({c.plan.height, c.height}, at::kDouble);
    at::Tensor across = at::empty({c.plan.width, c.width}, at::kDouble);
    for (int64_t y = 0; y < c.plan.height; ++y) {
      down[y] = at::tensor(triangle_weights(c.height, c.plan.full_height, c.plan.top + y));
    }
    for (int64_t x = 0; x < c.plan.width; ++x) {
      across[x] = at::tensor(triangle_weights(c.width, c.plan.full_width, c.plan.left + x));
    }
    const at::Tensor expected = at::einsum("yh,hwc,xw->yxc", {down, image.to(at::kDouble), across});
    const double gap = (made.to(at::kDouble) - expected).abs().max().item<double>();
    // Half a level of rounding, and what 8 bits behind the point lose in two sums.
    EXPECT_LE(gap, 0.5 + 0.1) << c.height << "x" << c.width << " -> " << c.plan.height << "x"
                              << c.plan.width;
  }
}

int reduction(int64_t height, int64_t width, const AugmentOptions& options, const Occasion& when) {
  return wanted({height, width}, options, when).reduction;
}

TEST(Reduction, LeavesWhatIsNeeded) {
  AugmentOptions test;
  test.train = false;
  test.height = test.width = 224;
  // The short side goes to 256: half of 512 is still enough, half of 511 is not.
  EXPECT_EQ(reduction(375, 500, test, {}), 1);
  EXPECT_EQ(reduction(511, 700, test, {}), 1);
  EXPECT_EQ(reduction(512, 700, test, {}), 2);
  EXPECT_EQ(reduction(1100, 1024, test, {}), 4);
  EXPECT_EQ(reduction(4096, 3000, test, {}), 8);
  EXPECT_EQ(reduction(224, 224, test, {}), 1);
  AugmentOptions train = test;
  train.train = true;
  train.crop = Crop::kResized;
  bool seen[9] = {};
  for (int64_t i = 0; i < 200; ++i) seen[reduction(1200, 1600, train, {i, 1, 2})] = true;
  EXPECT_TRUE(seen[1] && seen[2] && seen[4]);  // crops of 8 to 100 % of the area
  EXPECT_FALSE(seen[8]);                       // 1200 / 8 < 224
}

// Gradients and waves survive being reduced inside the decoder: the result is within a few levels
// of the one from the whole image, in training and in the test.
TEST(Reduction, LooksLikeTheWholeImage) {
  if (!io::have_jpeg()) GTEST_SKIP() << "built without TurboJPEG";
  const testing::TempFolder folder;
  const int64_t sizes[][2] = {{640, 900}, {1301, 1003}};
  for (const auto& [height, width] : sizes) {
    io::Image image{height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * 3))};
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        uint8_t* p = &image.rgb[static_cast<size_t>((y * width + x) * 3)];
        p[0] = static_cast<uint8_t>(255 * x / width);
        p[1] = static_cast<uint8_t>(255 * y / height);
        p[2] = static_cast<uint8_t>(127 + 100 * std::sin(static_cast<double>(x + 2 * y) / 60));
      }
    }
    for (const std::string half : {"train", "test"}) {
      std::filesystem::create_directories(folder / (half + "/a"));
      io::write_jpeg((folder / (half + "/a/" + std::to_string(width) + ".jpg")).string(), image);
    }
  }
  Config config;
  config.name = "image-folder";
  config.dir = folder.path().string();
  const Splits splits = open(config);
  for (const bool training : {false, true}) {
    LoaderOptions options;
    options.batch = 2;
    options.shuffle = false;
    options.seed = 5;
    options.augment.train = training;
    options.augment.crop = Crop::kResized;
    options.augment.height = options.augment.width = 96;
    options.augment.mean = {0, 0, 0};
    options.augment.std = {1, 1, 1};
    Loader loader(splits.train, options);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const at::Tensor batch = loader.next().images() * 255;
      for (int64_t i = 0; i < 2; ++i) {
        const at::Tensor whole = augment_one(splits.train->image(i), i, options.augment, 5, epoch);
        const at::Tensor gap = (batch[i].permute({1, 2, 0}) - whole.to(at::kFloat)).abs();
        // Blocks of the decoder and a triangle weigh the pixels between them differently; a part
        // cut half a pixel beside its place would be 3 levels off in the mean.
        EXPECT_LE(gap.max().item<float>(), 6) << training << " " << epoch << " " << i;
        EXPECT_LE(gap.mean().item<float>(), 1) << training << " " << epoch << " " << i;
      }
    }
  }
}

// What is left out of the decoding is not looked at: the same bytes as from all pixels.
TEST(Wanted, IsAllThatIsLookedAt) {
  if (!io::have_jpeg()) GTEST_SKIP() << "built without TurboJPEG";
  const testing::TempFolder folder;
  const std::string path = (folder / "x.jpg").string();
  at::manual_seed(8);
  bool reduced = false, partly = false;
  for (const auto& [height, width] : {std::pair{75, 100}, {131, 90}, {400, 611}, {32, 32}}) {
    const at::Tensor noise = at::randint(256, {height, width, 3}, at::kByte);
    const auto* bytes = noise.const_data_ptr<uint8_t>();
    io::write_jpeg(path, {height, width, {bytes, bytes + noise.numel()}});
    const std::string file = core::read_file(path);
    AugmentOptions options;
    for (const auto& [train, crop] : {std::pair{true, "resized"}, {true, "pad"}, {false, "none"}}) {
      options.train = train;
      options.crop = parse_crop(crop);
      for (int64_t i = 0; i < 30; ++i) {
        const Occasion when{i, 3, 1};
        const auto made = [&](bool all) {
          std::vector<uint8_t> pixels, out(32 * 32 * 3);
          const io::Decoded decoded = io::decode_image(
              file, path,
              [&](const io::ImageSize& size) {
                pixels.resize(static_cast<size_t>(size.height * size.width * 3));
                return pixels.data();
              },
              [&](const io::ImageSize& whole) {
                io::Wanted answer = wanted(whole, options, when);
                if (all) answer.part = {};
                return answer;
              });
          reduced = reduced || decoded.reduction > 1;
          partly = partly || decoded.part.height < decoded.reduced().height;
          augment_partial(pixels.data(), decoded, options, when, out.data());
          return out;
        };
        ASSERT_EQ(made(false), made(true)) << height << "x" << width << " " << crop << " " << i;
      }
    }
  }
  EXPECT_TRUE(reduced);
  EXPECT_EQ(partly, io::have_jpeg_parts());
}

}  // namespace
}  // namespace adagp::data
