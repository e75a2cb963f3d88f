#include "adagp/gpu/cuda/data/shrink.h"

#include <algorithm>

#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::Type;

class ShrinkKernel : public KernelTest {};

void expect_same(int64_t batch, int64_t from, int64_t to, Type type) {
  SCOPED_TRACE(testing::Message() << batch << " of " << from << " to " << to);
  cuda::ShrinkArgs args;
  args.type = type;
  args.batch = batch;
  args.height = from;
  args.width = from + 1;
  args.out_height = to;
  args.out_width = to;
  const auto bytes = [&](int64_t values) {
    return static_cast<size_t>(values * cuda::size_of(type));
  };
  std::vector<uint8_t> in(bytes(batch * from * (from + 1) * 3));
  std::mt19937 random(7);
  for (size_t i = 0; i + 1 < in.size(); i += 2) {
    // Halves of floats and whole bf16 that are numbers of moderate size.
    in[i] = static_cast<uint8_t>(random() % 256);
    in[i + 1] = static_cast<uint8_t>(0x3E + random() % 3);
  }
  std::vector<uint8_t> expected(bytes(batch * to * to * 3));
  args.in = in.data();
  args.out = expected.data();
  cuda::reference::shrink(args);

  const Device<uint8_t> device_in(in), out(std::vector<uint8_t>(expected.size() + 64, 0xAB));
  args.in = device_in.get();
  args.out = out.get();
  cuda::shrink(args, nullptr);
  const auto got = out.host();
  // The same additions in the same order and one division: no tolerance.
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
  EXPECT_TRUE(std::all_of(got.begin() + static_cast<std::ptrdiff_t>(expected.size()), got.end(),
                          [](uint8_t byte) { return byte == 0xAB; }))
      << "written behind the result";
}

TEST_F(ShrinkKernel, IsItsReference) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const int64_t batch : {0, 1, 7, 300}) {
      expect_same(batch, 32, 16, type);
      expect_same(batch, 32, 24, type);
      expect_same(batch, 7, 5, type);
      expect_same(batch, 5, 1, type);
    }
  }
}

}  // namespace
}  // namespace adagp::test
