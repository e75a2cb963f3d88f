#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/data/augment.h"

namespace adagp::cuda {
namespace {

constexpr double kMean[3] = {0.4914, 0.4822, 0.4465}, kStd[3] = {0.2470, 0.2435, 0.2616};

struct Batch {
  at::Tensor images, labels;
};

Batch by_reference(const at::Tensor& images, const at::Tensor& labels,
                   const std::vector<Window>& windows, at::ScalarType type) {
  AugmentArgs args;
  args.images = images.const_data_ptr<uint8_t>();
  args.labels = labels.const_data_ptr<int64_t>();
  args.windows = windows.data();
  args.batch = static_cast<int64_t>(windows.size());
  args.height = images.size(1);
  args.width = images.size(2);
  for (int c = 0; c < 3; ++c) {
    args.slope[c] = static_cast<float>(1.0 / (255.0 * kStd[c]));
    args.offset[c] = static_cast<float>(-kMean[c] / kStd[c]);
  }
  args.type = type == at::kFloat ? Type::kFloat : Type::kBFloat16;
  Batch out{at::full({args.batch, args.height, args.width, 3}, 77.0, type),
            at::full({args.batch}, -1, at::kLong)};
  args.out = out.images.mutable_data_ptr();
  args.out_labels = out.labels.mutable_data_ptr<int64_t>();
  reference::augment(args);
  return out;
}

// What torchvision would do: pad by reflection, cut the window out, flip it, normalise. [H, W, 3]
at::Tensor expected(const at::Tensor& images, const Window& window, int64_t pad) {
  const int64_t height = images.size(1), width = images.size(2);
  at::Tensor image = images[window.index].to(at::kDouble).permute({2, 0, 1});
  if (pad > 0) image = at::reflection_pad2d(image, {pad, pad, pad, pad});
  image = image.narrow(1, pad + window.down, height).narrow(2, pad + window.right, width);
  if (window.flip != 0) image = image.flip(2);
  const at::Tensor mean = at::tensor({kMean[0], kMean[1], kMean[2]}, at::kDouble);
  const at::Tensor std = at::tensor({kStd[0], kStd[1], kStd[2]}, at::kDouble);
  return (image.permute({1, 2, 0}) / 255.0 - mean) / std;
}

void expect_like_torch(int64_t height, int64_t width, int64_t pad) {
  SCOPED_TRACE(testing::Message() << height << " x " << width << ", pad " << pad);
  const at::Tensor images = at::randint(256, {6, height, width, 3}, at::kByte);
  const at::Tensor labels = at::randint(100, {6}, at::kLong);
  std::vector<Window> windows;
  for (int64_t down = -pad; down <= pad; ++down) {
    for (int64_t right = -pad; right <= pad; ++right) {
      for (int flip = 0; flip < 2; ++flip) {
        windows.push_back({static_cast<int32_t>(windows.size() * 5 % 6), static_cast<int16_t>(down),
                           static_cast<int16_t>(right), flip});
      }
    }
  }
  const Batch got = by_reference(images, labels, windows, at::kFloat);
  const Batch low = by_reference(images, labels, windows, at::kBFloat16);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto b = static_cast<int64_t>(i);
    const at::Tensor error =
        (got.images[b].to(at::kDouble) - expected(images, windows[i], pad)).abs();
    // Slope, offset and result are rounded to fp32; the terms are below 5.
    EXPECT_LE(error.max().item<double>(), 1e-6) << "window " << i;
    EXPECT_EQ(got.labels[b].item<int64_t>(), labels[windows[i].index].item<int64_t>());
  }
  EXPECT_TRUE(low.images.equal(got.images.to(at::kBFloat16)));
  EXPECT_TRUE(low.labels.equal(got.labels));
}

TEST(AugmentReference, IsPadCropFlipNormalise) {
  at::manual_seed(3);
  expect_like_torch(8, 8, 4);
  expect_like_torch(5, 7, 4);
  expect_like_torch(32, 32, 4);
  expect_like_torch(2, 2, 1);
  expect_like_torch(1, 1, 0);
  expect_like_torch(1, 6, 0);
}

}  // namespace
}  // namespace adagp::cuda
