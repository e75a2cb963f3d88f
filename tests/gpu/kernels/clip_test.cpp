#include <cmath>
#include <limits>
#include <memory>

#include "adagp/gpu/cuda/optim/optim.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::ParamSlot;
using cuda::Type;

struct Clip {
  std::vector<float> norm, scale;
};

Clip by_kernel(const std::vector<ParamSlot>& slots, float max_norm, void* workspace) {
  const Device<float> norm(size_t{1}), scale(size_t{1});
  cuda::ClipArgs args;
  args.max_norm = max_norm;
  args.norm = norm.get();
  args.scale = scale.get();
  args.workspace = workspace;
  cuda::clip_scale(slots.data(), static_cast<int64_t>(slots.size()), args, nullptr);
  return {norm.host(), scale.host()};
}

Clip by_reference(const std::vector<ParamSlot>& slots, float max_norm) {
  Clip out{{-1}, {-1}};
  cuda::ClipArgs args;
  args.max_norm = max_norm;
  args.norm = out.norm.data();
  args.scale = out.scale.data();
  cuda::reference::clip_scale(slots.data(), static_cast<int64_t>(slots.size()), args);
  return out;
}

// Gradients on both sides.
struct Both {
  std::vector<std::vector<uint8_t>> host;
  std::vector<std::unique_ptr<Device<uint8_t>>> device;
  std::vector<ParamSlot> host_slots, device_slots;

  // `shift`: where the array begins; 0 is aligned.
  void add(size_t count, Type type, size_t shift = 0) {
    host.push_back(packed(normal(shift + count, unsigned(host.size()), 0.1F), type));
    device.push_back(std::make_unique<Device<uint8_t>>(host.back()));
    ParamSlot slot;
    slot.gradient_type = type;
    slot.count = static_cast<int64_t>(count);
    const size_t offset = shift * size_t(cuda::size_of(type));
    slot.gradient = host.back().data() + offset;
    host_slots.push_back(slot);
    slot.gradient = device.back()->get() + offset;
    device_slots.push_back(slot);
  }
};

class ClipKernel : public KernelTest {
 protected:
  void expect_same(const Both& both) {
    const Device<uint8_t> workspace(static_cast<size_t>(cuda::clip_workspace()));
    for (const float max_norm : {0.5F, 1e6F}) {
      const Clip expected = by_reference(both.host_slots, max_norm);
      const Clip got = by_kernel(both.device_slots, max_norm, workspace.get());
      // Sums of 16 squares in fp32, the rest in double.
      EXPECT_NEAR(got.norm[0], expected.norm[0], 1e-6 * expected.norm[0]);
      EXPECT_NEAR(got.scale[0], expected.scale[0], 1e-6 * expected.scale[0]);
      const Clip again = by_kernel(both.device_slots, max_norm, workspace.get());
      EXPECT_EQ(again.norm, got.norm);  // the same bits
    }
  }
};

TEST_F(ClipKernel, IsItsReference) {
  expect_same(Both());
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const size_t count : {1, 3, 1000, 4097, 1000003}) {
      for (const size_t shift : {0, 1}) {
        SCOPED_TRACE(testing::Message() << count << " elements, shift " << shift);
        Both one;
        one.add(count, type, shift);
        expect_same(one);
      }
    }
  }
}

TEST_F(ClipKernel, ManyGradientsMakeOneNorm) {
  for (const size_t slots : {300, 700}) {  // one launch and several
    SCOPED_TRACE(slots);
    Both many;
    for (size_t i = 0; i < slots; ++i) {
      many.add(i % 50 == 7 ? 30000 + i : i % 61, i % 3 == 0 ? Type::kBFloat16 : Type::kFloat,
               i % 7 < 4 ? 0 : i % 7 - 3);
    }
    expect_same(many);
  }
  Both large;  // more chunks than blocks
  large.add(3000001, Type::kFloat);
  large.add(3, Type::kFloat);
  large.add(3000001, Type::kBFloat16);
  expect_same(large);
}

TEST_F(ClipKernel, ZeroInfinityAndNan) {
  const Device<uint8_t> workspace(static_cast<size_t>(cuda::clip_workspace()));
  const auto clip_of = [&](float value) {
    const Device<float> gradient(std::vector<float>(5000, value));
    ParamSlot slot;
    slot.gradient = gradient.get();
    slot.count = 5000;
    return by_kernel({slot}, 1, workspace.get());
  };
  EXPECT_EQ(clip_of(0).norm[0], 0);
  EXPECT_EQ(clip_of(0).scale[0], 1);
  EXPECT_EQ(clip_of(std::numeric_limits<float>::infinity()).scale[0], 0);
  const Clip nan = clip_of(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(nan.norm[0]));
  EXPECT_TRUE(std::isnan(nan.scale[0]));
}

}  // namespace
}  // namespace adagp::test
