#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "adagp/gpu/cuda/loss.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::Type;

struct Problem {
  int64_t batch = 0, classes = 0;
  Type type = Type::kFloat;
  float smoothing = 0;
  std::vector<uint8_t> logits;
  std::vector<int64_t> labels;
};

struct Result {
  std::vector<uint8_t> gradient;
  std::vector<float> loss;
  std::vector<double> meters;
  std::vector<float> table;  // of twice as many examples
};

constexpr float kUntouched = -7;

// Every second place, backwards.
std::vector<int64_t> rows_of(const Problem& p) {
  std::vector<int64_t> rows;
  for (int64_t i = p.batch; i > 0; --i) rows.push_back(2 * i - 1);
  return rows;
}

Problem make(int64_t batch, int64_t classes, Type type, float smoothing, bool ties = false) {
  Problem p{batch, classes, type, smoothing, {}, {}};
  auto values = normal(static_cast<size_t>(batch * classes), 7, 0, 3);
  if (ties) {
    for (float& value : values) value = std::round(value);
  }
  p.logits = packed(values, type);
  std::mt19937 random(11);
  for (int64_t i = 0; i < batch; ++i) p.labels.push_back(static_cast<int64_t>(random()) % classes);
  return p;
}

cuda::LossArgs sizes_of(const Problem& p) {
  cuda::LossArgs args;
  args.type = p.type;
  args.batch = p.batch;
  args.classes = p.classes;
  args.smoothing = p.smoothing;
  return args;
}

// 0x55 bytes beforehand: an element that is not written shows.
Result by_reference(const Problem& p) {
  Result out{std::vector<uint8_t>(p.logits.size(), 0x55),
             {0},
             {0, 0, 0, 0},
             std::vector<float>(static_cast<size_t>(2 * p.batch), kUntouched)};
  const auto rows = rows_of(p);
  cuda::LossArgs args = sizes_of(p);
  args.logits = p.logits.data();
  args.labels = p.labels.data();
  args.gradient = out.gradient.data();
  args.loss = out.loss.data();
  args.meters = out.meters.data();
  args.table = out.table.data();
  args.rows = rows.data();
  cuda::reference::softmax_loss(args);
  return out;
}

Result by_kernel(const Problem& p, void* workspace, int launches = 1) {
  const Device<uint8_t> logits(p.logits), gradient(std::vector<uint8_t>(p.logits.size(), 0x55));
  const Device<int64_t> labels(p.labels), rows(rows_of(p));
  const Device<float> table(std::vector<float>(static_cast<size_t>(2 * p.batch), kUntouched));
  const Device<float> loss(size_t{1});
  const Device<double> meters(size_t{4});
  cuda::LossArgs args = sizes_of(p);
  args.logits = logits.get();
  args.labels = labels.get();
  args.gradient = gradient.get();
  args.loss = loss.get();
  args.meters = meters.get();
  args.table = table.get();
  args.rows = rows.get();
  args.workspace = workspace;
  for (int i = 0; i < launches; ++i) cuda::softmax_loss(args, nullptr);
  return {gradient.host(), loss.host(), meters.host(), table.host()};
}

Result by_kernel(const Problem& p) {
  const Device<uint8_t> workspace(static_cast<size_t>(cuda::loss_workspace(p.batch)));
  return by_kernel(p, workspace.get());
}

// fp32: sums of up to 1003 exponentials, each lane's 32 one after another: at most about 40
// roundings of 6e-8.
constexpr double kFloatError = 3e-6;

void expect_same(const Problem& p, const Result& got) {
  const Result expected = by_reference(p);
  const double loss = expected.loss[0];
  EXPECT_NEAR(got.loss[0], loss, kFloatError * std::max(1.0, std::fabs(loss)));
  EXPECT_NEAR(got.meters[0] / double(p.batch), loss, kFloatError * std::max(1.0, std::fabs(loss)));
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(got.meters[i], expected.meters[i]) << "meter " << i;

  for (size_t i = 0; i < got.table.size(); ++i) {
    const double wanted = expected.table[i];
    ASSERT_NEAR(got.table[i], wanted, kFloatError * std::max(1.0, std::fabs(wanted))) << i;
    ASSERT_EQ(wanted == kUntouched, i % 2 == 0) << i;
  }

  const auto a = unpacked(got.gradient, p.type), b = unpacked(expected.gradient, p.type);
  // bf16: what lies on the border of two values may be rounded to either.
  const double relative = p.type == Type::kFloat ? 0 : 1.0 / 128;
  size_t wrong = 0, where = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double allowed = relative * std::fabs(double(b[i])) + kFloatError / double(p.batch);
    if (!(std::fabs(double(a[i]) - double(b[i])) <= allowed) && wrong++ == 0) where = i;
  }
  EXPECT_EQ(wrong, 0U) << "gradient[" << where << "]: got " << a[where] << ", expected "
                       << b[where];
}

class LossKernel : public KernelTest {};

TEST_F(LossKernel, IsItsReference) {
  for (const int64_t classes : {1, 2, 10, 31, 1000, 1003}) {
    for (const int64_t batch : {1, 7, 256, 500}) {
      for (const Type type : {Type::kFloat, Type::kBFloat16}) {
        for (const float smoothing : {0.0F, 0.1F}) {
          SCOPED_TRACE(testing::Message()
                       << batch << " x " << classes << ", smoothing " << smoothing
                       << (type == Type::kFloat ? ", float" : ", bf16"));
          const Problem p = make(batch, classes, type, smoothing);
          expect_same(p, by_kernel(p));
        }
      }
    }
  }
}

TEST_F(LossKernel, TiesAreRankedLikeTheReferences) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    const Problem p = make(500, 100, type, 0, /*ties=*/true);
    expect_same(p, by_kernel(p));
  }
  Problem equal = make(3, 10, Type::kFloat, 0);
  equal.logits = packed(std::vector<float>(30, 1.5F), Type::kFloat);
  equal.labels = {0, 4, 5};
  const Result got = by_kernel(equal);
  EXPECT_EQ(got.meters[1], 1);
  EXPECT_EQ(got.meters[2], 2);
}

TEST_F(LossKernel, NanLogitsGiveANanLossAndNoHit) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    std::vector<float> values(4 * 50);
    for (size_t row = 0; row < 4; ++row) values[row * 50 + 3] = 9;
    values[2 * 50 + 49] = std::numeric_limits<float>::quiet_NaN();
    Problem p = make(4, 50, type, 0.1F);
    p.logits = packed(values, type);
    p.labels = {3, 3, 3, 3};
    const Result got = by_kernel(p);
    EXPECT_TRUE(std::isnan(got.loss[0]));
    EXPECT_EQ(got.meters[1], 3);
    EXPECT_EQ(got.meters[2], 3);
    const auto gradient = unpacked(got.gradient, type);
    for (size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_EQ(std::isnan(gradient[i]), i / 50 == 2) << i;
    }
  }
}

TEST_F(LossKernel, InfiniteAndLargeLogits) {
  const float inf = std::numeric_limits<float>::infinity();
  Problem p = make(2, 3, Type::kFloat, 0);
  p.logits = packed({1e30F, -1e30F, 0, 5, -inf, 5}, Type::kFloat);
  p.labels = {0, 0};
  expect_same(p, by_kernel(p));
}

TEST_F(LossKernel, ALabelOutOfRangeGivesANanLoss) {
  for (const int64_t label : {-1, 3}) {
    Problem p = make(1, 3, Type::kFloat, 0.1F);
    p.labels = {label};
    const Result got = by_kernel(p);
    EXPECT_TRUE(std::isnan(got.loss[0]));
    EXPECT_EQ(got.meters[2], 0);
  }
}

TEST_F(LossKernel, OneWorkspaceServesManyLaunches) {
  const Device<uint8_t> workspace(static_cast<size_t>(cuda::loss_workspace(500)));
  for (const int64_t batch : {500, 7, 256, 500}) {
    const Problem p = make(batch, 10, Type::kFloat, 0);
    const Result once = by_kernel(p, workspace.get());
    expect_same(p, once);
    const Result thrice = by_kernel(p, workspace.get(), 3);
    EXPECT_EQ(once.gradient, thrice.gradient);  // and the same bits every time
    EXPECT_EQ(once.loss, thrice.loss);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(thrice.meters[i], 3 * once.meters[i], 1e-12 * once.meters[i]);
    }
  }
}

TEST_F(LossKernel, GradientAndMetersAreOptional) {
  const Problem p = make(7, 10, Type::kFloat, 0);
  const Device<uint8_t> logits(p.logits);
  const Device<int64_t> labels(p.labels);
  const Device<uint8_t> workspace(static_cast<size_t>(cuda::loss_workspace(7)));
  const Device<float> loss(size_t{1});
  cuda::LossArgs args = sizes_of(p);
  args.logits = logits.get();
  args.labels = labels.get();
  args.loss = loss.get();
  args.workspace = workspace.get();
  cuda::softmax_loss(args, nullptr);
  EXPECT_NEAR(loss.host()[0], by_reference(p).loss[0], kFloatError * by_reference(p).loss[0]);
}

}  // namespace
}  // namespace adagp::test
