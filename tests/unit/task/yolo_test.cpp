// YOLO's loss, its gradients and its answers against loops in Python.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/task/yolo.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::task {
namespace {

constexpr int64_t kSize = 96, kClasses = 4, kBatch = 3, kMost = 19;

struct Case {
  models::Tensors maps;
  at::Tensor objects;
  YoloOptions options;
};

// Objects of all sizes, so that every scale answers for some; more than are looked at together; in
// the first image none, and two in one cell of the last.
Case random_case(double ignore) {
  at::manual_seed(8);
  Case out;
  for (const int64_t side : {kSize / 8, kSize / 16, kSize / 32}) {
    out.maps.push_back(at::randn({kBatch, 3 * (5 + kClasses), side, side}).requires_grad_());
  }
  out.objects = at::rand({kBatch, kMost, 5});
  out.objects.select(2, 0).mul_(kClasses).floor_();
  out.objects.narrow(2, 1, 2).mul_(0.98).add_(0.01);
  out.objects.narrow(2, 3, 2).pow_(3).mul_(0.8).add_(0.03);
  out.objects[0].zero_().select(1, 0).fill_(-1);
  out.objects[1].narrow(0, 12, 7).zero_().select(1, 0).fill_(-1);
  out.objects[2][1].narrow(0, 1, 4).copy_(out.objects[2][0].narrow(0, 1, 4));
  out.options = {published_anchors(kSize), kSize, kClasses, ignore};
  return out;
}

io::TensorMap ask_python(const Case& c) {
  const adagp::testing::TempFolder folder;
  io::TensorMap tensors{{"objects", c.objects},
                        {"anchors", at::tensor(c.options.anchors, at::kDouble)}};
  for (size_t i = 0; i < c.maps.size(); ++i) {
    tensors["m" + std::to_string(i)] = c.maps[i].detach();
  }
  io::save_tensors(folder / "case.safetensors", tensors,
                   {{"size", std::to_string(kSize)},
                    {"classes", std::to_string(kClasses)},
                    {"ignore", std::to_string(c.options.ignore)}});
  adagp::testing::run_python("tests/unit/task/python/yolo_reference.py", folder.path().string());
  return io::load_tensors(folder / "result.safetensors").tensors;
}

TEST(Yolo, LossGradientsAndAnswersAreThoseOfTheLoops) {
  // 0.3: on random boxes nearly none overlaps an object by half.
  const Case c = random_case(0.3);
  const Yolo yolo(c.options);
  const auto expected = ask_python(c);

  const at::Tensor loss = yolo.loss(c.maps, c.objects);
  // Sums of some 2000 terms in floats against doubles.
  EXPECT_NEAR(loss.item<double>() / expected.at("loss").item<double>(), 1.0, 1e-5);
  loss.backward();
  for (size_t i = 0; i < c.maps.size(); ++i) {
    const at::Tensor& gradient = expected.at("g" + std::to_string(i));
    EXPECT_GT(gradient.abs().max().item<double>(), 0.1);
    EXPECT_TRUE(at::allclose(c.maps[i].grad().to(at::kDouble), gradient, 1e-4, 1e-6)) << i;
  }
  EXPECT_TRUE(at::equal(yolo.hits(c.maps, c.objects), expected.at("right").to(at::kDouble)));

  const auto answers = yolo.answers(c.maps, 0.2, 50);
  ASSERT_EQ(answers.size(), static_cast<size_t>(kBatch));
  const int64_t count = expected.at("scores").size(0) / kBatch;
  for (int64_t b = 0; b < kBatch; ++b) {
    const at::Tensor scores = expected.at("scores").narrow(0, b * count, count).flatten();
    const auto [top, where] = scores.topk(50);
    const auto& mine = answers[static_cast<size_t>(b)];
    ASSERT_EQ(static_cast<int64_t>(mine.size()), (top > 0.2).sum().item<int64_t>());
    ASSERT_GT(mine.size(), 5U);
    for (size_t k = 0; k < mine.size(); ++k) {
      const auto place = where[static_cast<int64_t>(k)].item<int64_t>();
      EXPECT_NEAR(mine[k].score, top[static_cast<int64_t>(k)].item<double>(), 1e-6);
      EXPECT_EQ(mine[k].label, place % kClasses);
      const at::Tensor box =
          expected.at("boxes")[b * count + place / kClasses].clamp(0, static_cast<double>(kSize));
      EXPECT_NEAR(mine[k].box.left, box[0].item<double>(), 1e-3);
      EXPECT_NEAR(mine[k].box.bottom, box[3].item<double>(), 1e-3);
    }
  }
}

TEST(Yolo, IgnoringEverythingOrNothingDiffers) {
  Case c = random_case(0.0);
  const double lenient = Yolo(c.options).loss(c.maps, c.objects).item<double>();
  c.options.ignore = 1.0;
  EXPECT_GT(Yolo(c.options).loss(c.maps, c.objects).item<double>(), lenient + 1);
}

TEST(Yolo, WrongAnchorsAreRefused) {
  EXPECT_THROW(Yolo({{10, 13, 16, 30}, 96, 4, 0.5}), UsageError);
  auto anchors = published_anchors(96);
  anchors[5] = 0;
  EXPECT_THROW(Yolo({anchors, 96, 4, 0.5}), UsageError);
}

}  // namespace
}  // namespace adagp::task
