#include "adagp/gpu/cuda/data/augment.h"

#include <algorithm>

#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::Type;

struct Problem {
  int64_t images = 11, batch = 0, height = 0, width = 0;
  Type type = Type::kFloat;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  std::vector<cuda::Window> windows;
};

struct Result {
  std::vector<uint8_t> out;
  std::vector<int64_t> labels;
};

Problem make(int64_t batch, int64_t height, int64_t width, int pad, Type type) {
  Problem p;
  p.batch = batch;
  p.height = height;
  p.width = width;
  p.type = type;
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  p.pixels.resize(static_cast<size_t>(p.images * height * width * 3));
  for (uint8_t& value : p.pixels) value = static_cast<uint8_t>(below(256));
  for (int64_t i = 0; i < p.images; ++i) p.labels.push_back(100 + i);
  for (int64_t i = 0; i < batch; ++i) {
    p.windows.push_back({below(static_cast<int>(p.images)),
                         static_cast<int16_t>(below(2 * pad + 1) - pad),
                         static_cast<int16_t>(below(2 * pad + 1) - pad), below(2)});
  }
  return p;
}

cuda::AugmentArgs sizes_of(const Problem& p) {
  cuda::AugmentArgs args;
  args.batch = p.batch;
  args.height = p.height;
  args.width = p.width;
  args.type = p.type;
  for (int c = 0; c < 3; ++c) {
    args.slope[c] = 1.0F / (255 * (0.24F + 0.01F * static_cast<float>(c)));
    args.offset[c] = -1.9F + 0.1F * static_cast<float>(c);
  }
  return args;
}

size_t bytes_of(const Problem& p) {
  return static_cast<size_t>(p.batch * p.height * p.width * 3 * cuda::size_of(p.type));
}

Result by_reference(const Problem& p) {
  Result out{std::vector<uint8_t>(bytes_of(p)), std::vector<int64_t>(p.windows.size())};
  cuda::AugmentArgs args = sizes_of(p);
  args.images = p.pixels.data();
  args.labels = p.labels.data();
  args.windows = p.windows.data();
  args.out = out.out.data();
  args.out_labels = out.labels.data();
  cuda::reference::augment(args);
  return out;
}

// `shift`: the result begins this many elements into its memory. What lies around it must stay.
Result by_kernel(const Problem& p, size_t shift) {
  const auto before = shift * static_cast<size_t>(cuda::size_of(p.type));
  const Device<uint8_t> pixels(p.pixels);
  const Device<int64_t> labels(p.labels), out_labels(p.windows.size());
  const Device<cuda::Window> windows(p.windows);
  const Device<uint8_t> out(std::vector<uint8_t>(before + bytes_of(p) + 64, 0xAB));
  cuda::AugmentArgs args = sizes_of(p);
  args.images = pixels.get();
  args.labels = labels.get();
  args.windows = windows.get();
  args.out = out.get() + before;
  args.out_labels = out_labels.get();
  cuda::augment(args, nullptr);

  const auto all = out.host();
  const auto start = all.begin() + static_cast<std::ptrdiff_t>(before);
  const auto end = start + static_cast<std::ptrdiff_t>(bytes_of(p));
  const auto untouched = [](uint8_t byte) { return byte == 0xAB; };
  EXPECT_TRUE(std::all_of(all.begin(), start, untouched)) << "written before the result";
  EXPECT_TRUE(std::all_of(end, all.end(), untouched)) << "written behind the result";
  return {{start, end}, out_labels.host()};
}

void expect_same(const Problem& p, size_t shift = 0) {
  SCOPED_TRACE(testing::Message() << p.batch << " of " << p.height << " x " << p.width
                                  << (p.type == Type::kFloat ? ", float" : ", bf16") << ", shift "
                                  << shift);
  const Result expected = by_reference(p), got = by_kernel(p, shift);
  EXPECT_EQ(got.labels, expected.labels);
  // Both round slope * byte + offset once: no tolerance.
  const auto wrong = std::mismatch(got.out.begin(), got.out.end(), expected.out.begin()).first;
  EXPECT_TRUE(wrong == got.out.end()) << "first wrong byte " << wrong - got.out.begin();
}

class AugmentKernel : public KernelTest {};

TEST_F(AugmentKernel, IsItsReference) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const int64_t batch : {1, 7, 256}) {
      expect_same(make(batch, 1, 1, 0, type));
      expect_same(make(batch, 8, 8, 4, type));
      expect_same(make(batch, 5, 7, 4, type));    // rows and examples end within a group of pixels
      expect_same(make(batch, 6, 10, 3, type));   // rows do, examples do not
      expect_same(make(batch, 32, 32, 4, type));  // one block per example
      expect_same(make(batch, 32, 32, 0, type));
    }
    expect_same(make(3, 65, 63, 8, type));  // several blocks per example
    expect_same(make(3, 64, 64, 8, type));
  }
}

TEST_F(AugmentKernel, OutputMayBeginAnywhere) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const size_t shift : {1, 2, 4}) expect_same(make(7, 8, 8, 2, type), shift);
  }
}

TEST_F(AugmentKernel, AnEmptyBatchIsNoError) {
  expect_same(make(0, 8, 8, 2, Type::kFloat));
}

}  // namespace
}  // namespace adagp::test
