// The kernels of DenseNet's 3x3 convolutions against their references.

#include "adagp/gpu/cuda/conv/narrow_conv.h"

#include <limits>
#include <tuple>

#include "adagp/base/core/error.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::NarrowConvArgs;
using cuda::Type;

class NarrowConvKernel : public KernelTest {};

struct NarrowConvRun {
  std::vector<uint8_t> y, dweight;
};

struct NarrowConvProblem {
  Map map;
  std::vector<uint8_t> x, weight, dy;

  NarrowConvProblem(const Map& of, bool exact) : map(of) {
    const auto draw = [&](int64_t count, unsigned seed) {
      const auto n = static_cast<size_t>(count);
      return packed(exact ? whole_numbers(n, seed) : normal(n, seed), Type::kBFloat16);
    };
    x = draw(map.count(), 1);
    weight = draw(int64_t{32} * 9 * 128, 2);
    dy = draw(map.positions() * 32, 3);
  }

  NarrowConvRun by_reference() const {
    NarrowConvRun run{std::vector<uint8_t>(dy.size()), std::vector<uint8_t>(weight.size())};
    NarrowConvArgs a;
    a.map = map;
    a.x = x.data();
    a.weight = weight.data();
    a.dy = dy.data();
    a.y = run.y.data();
    a.dweight = run.dweight.data();
    cuda::reference::narrow_conv_forward(a);
    cuda::reference::narrow_conv_weight_gradient(a);
    return run;
  }

  NarrowConvRun by_kernels() const {
    const Device<uint8_t> device_x(x), device_weight(weight), device_dy(dy);
    const MarkedBytes y(dy.size()), dweight(weight.size());
    const auto floats = static_cast<size_t>(cuda::narrow_conv_workspace(map));
    const Device<float> workspace(std::vector<float>(floats, NAN));
    NarrowConvArgs a;
    a.map = map;
    a.block_memory = cuda::block_memory(0);
    a.x = device_x.get();
    a.weight = device_weight.get();
    a.dy = device_dy.get();
    a.y = y.get();
    a.dweight = dweight.get();
    a.workspace = workspace.get();
    cuda::narrow_conv_forward(a, nullptr);
    cuda::narrow_conv_weight_gradient(a, nullptr);
    return {y.result(), dweight.result()};
  }

  void repeat(int64_t times) {
    const std::vector<uint8_t> one_x = x, one_dy = dy;
    for (int64_t i = 1; i < times; ++i) {
      x.insert(x.end(), one_x.begin(), one_x.end());
      dy.insert(dy.end(), one_dy.begin(), one_dy.end());
    }
    map.batch *= times;
  }
};

// One position, one image, rows that end within a tile, images that end within a unit, units that
// end within an image, the last unit not full.
const Map kMaps[] = {{1, 1, 1, 128},  {1, 4, 4, 128},  {5, 7, 9, 128},  {3, 8, 8, 128},
                     {1, 3, 70, 128}, {2, 1, 33, 128}, {1, 33, 1, 128}, {2, 16, 16, 128}};

TEST_F(NarrowConvKernel, SameBitsAsReferenceWhereSumsAreExact) {
  for (const Map& map : kMaps) {
    SCOPED_TRACE(testing::Message() << map.batch << "x" << map.height << "x" << map.width);
    const NarrowConvProblem problem(map, true);
    const NarrowConvRun got = problem.by_kernels(), expected = problem.by_reference();
    EXPECT_TRUE(got.y == expected.y);
    EXPECT_TRUE(got.dweight == expected.dweight);
  }
}

TEST_F(NarrowConvKernel, IsItsReferenceAndRepeatsItsBits) {
  for (const Map& map : kMaps) {
    SCOPED_TRACE(testing::Message() << map.batch << "x" << map.height << "x" << map.width);
    const NarrowConvProblem problem(map, false);
    const NarrowConvRun got = problem.by_kernels(), expected = problem.by_reference();
    // bf16 keeps eight bits; sums in another order may round to the other side.
    for (const auto& [found, wanted, what] :
         {std::tuple(&got.y, &expected.y, "y"),
          std::tuple(&got.dweight, &expected.dweight, "dweight")}) {
      expect_close(unpacked(*found, Type::kBFloat16), unpacked(*wanted, Type::kBFloat16), 1.0 / 256,
                   what);
    }
    const NarrowConvRun again = problem.by_kernels();
    EXPECT_TRUE(again.y == got.y && again.dweight == got.dweight) << "another run gave other bits";
  }
}

// Batches as in training: units of every size, blocks with several units; the reference of the
// gradient would take long.
TEST_F(NarrowConvKernel, ManyImagesAreTheSumOfFew) {
  for (const auto& [side, times] : {std::pair(32, 128), std::pair(32, 32), std::pair(16, 256),
                                    std::pair(8, 256), std::pair(4, 256), std::pair(40, 64)}) {
    SCOPED_TRACE(side);
    const NarrowConvProblem part({1, side, side, 128}, true);
    const NarrowConvRun one = part.by_reference();
    NarrowConvProblem all = part;
    all.repeat(times);
    const NarrowConvRun got = all.by_kernels();
    bool same = true;
    for (size_t i = 0; i < got.y.size(); i += one.y.size()) {
      same = same &&
             std::equal(one.y.begin(), one.y.end(), got.y.begin() + static_cast<std::ptrdiff_t>(i));
    }
    EXPECT_TRUE(same);
    // A power of two times a sum is rounded as the sum is.
    std::vector<float> expected = unpacked(one.dweight, Type::kBFloat16);
    for (float& value : expected) value *= static_cast<float>(times);
    EXPECT_TRUE(got.dweight == packed(expected, Type::kBFloat16));
  }
}

// An infinite value must not get to where it is outside the image: into the row after it, or into
// the next image.
TEST_F(NarrowConvKernel, InfinityStaysInItsWindows) {
  NarrowConvProblem problem({3, 5, 6, 128}, false);
  const uint16_t infinity = 0x7F80;
  // The last position of a row, and the last of the second image.
  for (const size_t position : {size_t{11}, size_t{59}}) {
    std::memcpy(problem.x.data() + 2 * (128 * position + 17), &infinity, 2);
  }
  const NarrowConvRun got = problem.by_kernels(), expected = problem.by_reference();
  const auto expect_same = [](const std::vector<uint8_t>& found,
                              const std::vector<uint8_t>& wanted) {
    const auto a = unpacked(found, Type::kBFloat16), b = unpacked(wanted, Type::kBFloat16);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(std::isfinite(a[i]), std::isfinite(b[i])) << i;
    }
  };
  expect_same(got.y, expected.y);
  expect_same(got.dweight, expected.dweight);
}

TEST_F(NarrowConvKernel, RefusesOtherShapes) {
  NarrowConvArgs args;
  args.map = {1, 5, 5, 64};
  args.block_memory = cuda::block_memory(0);
  EXPECT_THROW(cuda::narrow_conv_forward(args, nullptr), Error);
  EXPECT_THROW(cuda::narrow_conv_weight_gradient(args, nullptr), Error);
  args.map.channels = 128, args.block_memory = 99 * 1024;  // too little for the weights
  EXPECT_THROW(cuda::narrow_conv_forward(args, nullptr), Error);
}

}  // namespace
}  // namespace adagp::test
