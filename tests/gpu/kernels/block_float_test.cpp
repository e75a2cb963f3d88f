#include "adagp/gpu/cuda/conv/block_float.h"

#include <limits>

#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

using cuda::BlockFloatArgs;
using cuda::Rounding;
using cuda::Type;

class BlockFloatKernel : public KernelTest {};

struct Shape {
  int64_t outer, length, inner;
};

std::vector<float> numbers_of_many_sizes(size_t count) {
  std::vector<float> out = normal(count, 5);
  for (size_t i = 0; i < count; ++i) {
    if (i % 7 == 0) out[i] = 0;
    if (i % 11 == 0) out[i] = std::ldexp(out[i], static_cast<int>(i % 90) - 45);
    if (i % 97 == 0) out[i] = std::ldexp(out[i], -140);  // below the normal numbers
  }
  if (count > 500) out[300] = std::numeric_limits<float>::infinity();
  if (count > 500) out[401] = std::numeric_limits<float>::quiet_NaN();
  return out;
}

void expect_same(const Shape& shape, Type in, Type out, int32_t bits, Rounding rounding,
                 int window) {
  SCOPED_TRACE(testing::Message() << shape.outer << " x " << shape.length << " x " << shape.inner
                                  << ", " << bits << " bits, rounding "
                                  << static_cast<int>(rounding) << ", window " << window);
  const auto count = static_cast<size_t>(shape.outer * shape.length * shape.inner);
  Bytes from(packed(numbers_of_many_sizes(count), in));
  Bytes to(std::vector<uint8_t>(count * static_cast<size_t>(cuda::size_of(out)) + 64, 0xAB));
  Both<int32_t> width(std::vector<int32_t>{bits});
  Both<int64_t> seed(std::vector<int64_t>{-123456789012345});
  Floats largest(std::vector<float>{3.7F});
  for (const bool kernel : {false, true}) {
    BlockFloatArgs args;
    args.in = from.at(kernel);
    args.out = to.at(kernel);
    args.in_type = in;
    args.out_type = out;
    args.outer = shape.outer;
    args.length = shape.length;
    args.inner = shape.inner;
    args.bits = width.at(kernel);
    args.rounding = rounding;
    args.seed = seed.at(kernel);
    args.tag = 77;
    if (window > 0) args.largest = largest.at(kernel);
    args.window = window;
    kernel ? cuda::block_float(args, nullptr) : cuda::reference::block_float(args);
  }
  // Whole numbers on one side, exact doubles on the other: no tolerance. A NaN stays one.
  const auto expected = unpacked(to.host, out), got = unpacked(to.device.host(), out);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
    ASSERT_EQ(got[i], expected[i]) << i;
  }
}

TEST_F(BlockFloatKernel, IsItsReference) {
  for (const Shape& shape :
       {Shape{1, 8, 1}, Shape{300, 64, 1}, Shape{1000, 3, 1}, Shape{7, 37, 1}, Shape{1, 37, 5},
        Shape{2, 100, 64}, Shape{1, 1000, 3}, Shape{0, 4, 1}}) {
    for (const Rounding rounding :
         {Rounding::kTruncate, Rounding::kNearest, Rounding::kStochastic}) {
      for (const int32_t bits : {0, 1, 2, 3, 4, 8}) {
        expect_same(shape, Type::kFloat, Type::kBFloat16, bits == 0 ? 2 : bits, rounding, 0);
        expect_same(shape, Type::kBFloat16, Type::kBFloat16, bits, rounding, 0);
      }
      for (const int32_t bits : {0, 2, 4, 11, 24}) {
        expect_same(shape, Type::kFloat, Type::kFloat, bits, rounding, 0);
        expect_same(shape, Type::kBFloat16, Type::kFloat, bits, rounding, 7);
      }
    }
  }
}

}  // namespace
}  // namespace adagp::test
