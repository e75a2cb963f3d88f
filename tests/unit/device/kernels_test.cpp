// What the kernels are handed: types they know, memory that no other stream uses.

#include "adagp/gpu/device/kernels.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::device {
namespace {

TEST(Kernels, TakeFloatAndBf16AndRefuseTheRest) {
  EXPECT_EQ(type_of(at::zeros({2}, at::kFloat)), cuda::Type::kFloat);
  EXPECT_EQ(type_of(at::zeros({2}, at::kBFloat16)), cuda::Type::kBFloat16);
  for (const auto type : {at::kHalf, at::kDouble, at::kLong, at::kByte}) {
    const at::Tensor other = at::zeros({2, 3}, type);
    EXPECT_FALSE(has_type(other));
    try {
      type_of(other);
      ADD_FAILURE() << "took " << c10::toString(type);
    } catch (const Error& error) {
      const std::string text = error.what();
      for (const std::string part : {c10::toString(type), "[2, 3]", "bf16"}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
      }
    }
  }
}

// Handles stand for streams: whose memory it is does not depend on what they point to.
TEST(Scratch, BelongsToOneStreamAndPurpose) {
  int one = 0, two = 0;
  const auto memory = [](Scratch purpose, cuda::Stream stream, int64_t bytes) {
    return scratch(purpose, at::kCPU, stream, bytes);
  };
  void* first = memory(Scratch::kStats, &one, 64);
  EXPECT_EQ(memory(Scratch::kStats, &one, 64), first);
  EXPECT_EQ(memory(Scratch::kStats, &one, 16), first);
  EXPECT_NE(memory(Scratch::kStats, &two, 64), first);
  EXPECT_NE(memory(Scratch::kLoss, &one, 64), first);
}

// A captured graph goes on writing to the address it was recorded with.
TEST(Scratch, LargerRequestsGetOtherMemoryAndTheOldStays) {
  int stream = 0;
  auto* small = static_cast<unsigned char*>(scratch(Scratch::kTrain, at::kCPU, &stream, 32));
  std::fill_n(small, 32, 7);
  auto* large = static_cast<unsigned char*>(scratch(Scratch::kTrain, at::kCPU, &stream, 4096));
  EXPECT_NE(large, small);
  EXPECT_EQ(std::count(large, large + 4096, 0), 4096);
  EXPECT_EQ(std::count(small, small + 32, 7), 32);
}

}  // namespace
}  // namespace adagp::device
