// The first convolution's kernels against their references.

#include "adagp/gpu/cuda/conv/image_conv.h"

#include <limits>
#include <tuple>

#include "adagp/base/core/error.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::ImageConvArgs;
using cuda::Map;
using cuda::Type;

class ImageConvKernel : public KernelTest {};

struct ImageConvRun {
  std::vector<uint8_t> y, dweight;
};

struct ImageConvProblem {
  ImageConvArgs args;
  std::vector<uint8_t> x, weight, dy;

  ImageConvProblem(const Map& map, int filters, Type type, bool exact) {
    const auto draw = [&](int64_t count, unsigned seed) {
      const auto n = static_cast<size_t>(count);
      return exact ? whole_numbers(n, seed) : normal(n, seed);
    };
    args.map = map;
    args.filters = filters;
    args.x_type = type;
    x = packed(draw(map.count(), 1), type);
    weight = packed(draw(int64_t{27} * filters, 2), Type::kBFloat16);
    dy = packed(draw(map.positions() * filters, 3), Type::kBFloat16);
  }

  ImageConvRun by_reference() const {
    ImageConvRun run{std::vector<uint8_t>(dy.size()), std::vector<uint8_t>(weight.size())};
    ImageConvArgs a = args;
    a.x = x.data();
    a.weight = weight.data();
    a.dy = dy.data();
    a.y = run.y.data();
    a.dweight = run.dweight.data();
    cuda::reference::image_conv_forward(a);
    cuda::reference::image_conv_weight_gradient(a);
    return run;
  }

  ImageConvRun by_kernels() const {
    const Device<uint8_t> device_x(x), device_weight(weight), device_dy(dy);
    const MarkedBytes y(dy.size()), dweight(weight.size());
    const auto floats = static_cast<size_t>(cuda::image_conv_workspace(args.map, args.filters));
    const Device<float> workspace(std::vector<float>(floats, NAN));
    ImageConvArgs a = args;
    a.x = device_x.get();
    a.weight = device_weight.get();
    a.dy = device_dy.get();
    a.y = y.get();
    a.dweight = dweight.get();
    a.workspace = workspace.get();
    cuda::image_conv_forward(a, nullptr);
    cuda::image_conv_weight_gradient(a, nullptr);
    return {y.result(), dweight.result()};
  }
};

template <typename F>
void for_both_sizes(const Map& map, const F& f) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const int filters : {32, 64}) {
      SCOPED_TRACE(testing::Message()
                   << map.batch << "x" << map.height << "x" << map.width << ", " << filters
                   << (type == Type::kFloat ? " filters fp32" : " filters bf16"));
      f(filters, type);
    }
  }
}

// Bands of eight rows and of fewer, bands with less than eight tiles, one band and more bands than
// blocks, bands that a thread cannot hold in registers.
const Map kImages[] = {{1, 8, 2, 3},   {3, 3, 16, 3},   {2, 14, 24, 3}, {150, 8, 4, 3},
                       {90, 12, 4, 3}, {13, 32, 32, 3}, {2, 8, 224, 3}, {1, 2, 896, 3}};

TEST_F(ImageConvKernel, SameBitsAsReferenceWhereSumsAreExact) {
  for (const Map& map : kImages) {
    for_both_sizes(map, [&](int filters, Type type) {
      const ImageConvProblem problem(map, filters, type, true);
      const ImageConvRun got = problem.by_kernels(), expected = problem.by_reference();
      EXPECT_TRUE(got.y == expected.y);
      EXPECT_TRUE(got.dweight == expected.dweight);
    });
  }
}

TEST_F(ImageConvKernel, IsItsReferenceAndRepeatsItsBits) {
  for (const Map& map : kImages) {
    for_both_sizes(map, [&](int filters, Type type) {
      const ImageConvProblem problem(map, filters, type, false);
      const ImageConvRun got = problem.by_kernels(), expected = problem.by_reference();
      // bf16 keeps eight bits; sums in another order may round to the other side.
      for (const auto& [found, wanted, what] :
           {std::tuple(&got.y, &expected.y, "y"),
            std::tuple(&got.dweight, &expected.dweight, "dweight")}) {
        expect_close(unpacked(*found, Type::kBFloat16), unpacked(*wanted, Type::kBFloat16),
                     1.0 / 256, what);
      }
      const ImageConvRun again = problem.by_kernels();
      EXPECT_TRUE(again.y == got.y && again.dweight == got.dweight)
          << "another run gave other bits";
    });
  }
}

// Several rounds of all blocks, as in training; the reference of the gradient would take long.
TEST_F(ImageConvKernel, ManyImagesAreTheSumOfFew) {
  const Map few{4, 32, 32, 3}, many{128, 32, 32, 3};
  for_both_sizes(few, [&](int filters, Type type) {
    const ImageConvProblem part(few, filters, type, true);
    const ImageConvRun one = part.by_kernels();
    ImageConvProblem all = part;
    all.args.map = many;
    for (int64_t i = few.batch; i < many.batch; i += few.batch) {
      all.x.insert(all.x.end(), part.x.begin(), part.x.end());
      all.dy.insert(all.dy.end(), part.dy.begin(), part.dy.end());
    }
    const ImageConvRun got = all.by_kernels();
    for (size_t i = 0; i < got.y.size(); i += one.y.size()) {
      EXPECT_TRUE(
          std::equal(one.y.begin(), one.y.end(), got.y.begin() + static_cast<std::ptrdiff_t>(i)));
    }
    // 32 times a sum: a power of two, so it is rounded as the sum is.
    std::vector<float> expected = unpacked(one.dweight, Type::kBFloat16);
    for (float& value : expected) value *= 32;
    EXPECT_TRUE(got.dweight == packed(expected, Type::kBFloat16));
  });
}

// What fills the taps up to 32 must not meet an infinite value.
TEST_F(ImageConvKernel, InfinityStaysInfinity) {
  ImageConvProblem problem({1, 8, 16, 3}, 64, Type::kFloat, false);
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(problem.x.data() + 4 * (3 * (16 * 4 + 7)), &infinity, 4);
  const auto got = unpacked(problem.by_kernels().y, Type::kBFloat16);
  const auto expected = unpacked(problem.by_reference().y, Type::kBFloat16);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::isinf(got[i]), std::isinf(expected[i])) << i;
    ASSERT_FALSE(std::isnan(got[i])) << i;
  }
}

TEST_F(ImageConvKernel, RefusesOtherShapes) {
  ImageConvArgs args;
  args.map = {1, 5, 5, 3};
  args.filters = 64;
  EXPECT_THROW(cuda::image_conv_forward(args, nullptr), Error);
  EXPECT_THROW(cuda::image_conv_weight_gradient(args, nullptr), Error);
}

}  // namespace
}  // namespace adagp::test
