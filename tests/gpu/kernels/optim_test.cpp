#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "adagp/gpu/cuda/optim/optim.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::ParamSlot;
using cuda::Type;
using cuda::UpdateRule;
using Kind = UpdateRule::Kind;

struct Shape {
  size_t count = 0;
  Type gradient = Type::kFloat;
  float decay = 0;
  bool first = true, low = true;
  size_t shift = 0;  // where the arrays begin: 0 is aligned
};

// The arrays of one parameter on either side; four elements behind them that must stay as they are.
template <template <typename> typename Array>
struct Memory {
  Shape shape;
  Array<float> weight, first, second, steps;
  Array<uint16_t> low;
  Array<uint8_t> gradient;

  static auto* data(const auto& array) {
    if constexpr (requires { array.get(); }) {
      return array.get();
    } else {
      return const_cast<std::remove_cvref_t<decltype(array[0])>*>(array.data());
    }
  }
  ParamSlot slot() const {
    ParamSlot out;
    out.weight = data(weight) + shape.shift;
    out.first = shape.first ? data(first) + shape.shift : nullptr;
    out.second = data(second) + shape.shift;
    out.steps = data(steps);
    out.low = shape.low ? data(low) + shape.shift : nullptr;
    out.gradient = data(gradient) + shape.shift * size_t(cuda::size_of(shape.gradient));
    out.gradient_type = shape.gradient;
    out.count = static_cast<int64_t>(shape.count);
    out.decay = shape.decay;
    return out;
  }
};

template <typename T>
using Vector = std::vector<T>;
using Host = Memory<Vector>;
using OnDevice = Memory<Device>;

Host make(const Shape& shape, unsigned seed) {
  const size_t all = shape.shift + shape.count + 4;
  Host out{shape,
           normal(all, 10 * seed),
           normal(all, 10 * seed + 1, 0, 0.1F),
           normal(all, 10 * seed + 2),
           {static_cast<float>(seed % 3)},
           std::vector<uint16_t>(all, 0x1234),
           packed(normal(all, 10 * seed + 3), shape.gradient)};
  for (float& value : out.second) value = 0.01F * value * value;
  return out;
}

std::vector<Host> make(const std::vector<Shape>& shapes) {
  std::vector<Host> out;
  for (const Shape& shape : shapes) out.push_back(make(shape, static_cast<unsigned>(out.size())));
  return out;
}

// The same parameters for the references and for the kernels.
struct Both {
  std::vector<Host> host;
  std::vector<std::unique_ptr<OnDevice>> device;

  explicit Both(const std::vector<Host>& start) : host(start) {
    for (const Host& h : start) {
      device.emplace_back(new OnDevice{h.shape, Device(h.weight), Device(h.first), Device(h.second),
                                       Device(h.steps), Device(h.low), Device(h.gradient)});
    }
  }
  std::vector<ParamSlot> host_slots() const {
    std::vector<ParamSlot> out;
    for (const auto& one : host) out.push_back(one.slot());
    return out;
  }
  std::vector<ParamSlot> device_slots() const {
    std::vector<ParamSlot> out;
    for (const auto& one : device) out.push_back(one->slot());
    return out;
  }
};

// fp32 against double, over three steps of at most seven roundings of 6e-8 each. `least`: the size
// of what the values were added up from, which may be larger than they are.
void expect_near(const std::vector<float>& got, const std::vector<float>& expected, double least,
                 const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  size_t wrong = 0, where = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = 2e-6 * std::max(least, std::fabs(double(expected[i])));
    if (!(std::fabs(double(got[i]) - double(expected[i])) <= allowed) && wrong++ == 0) where = i;
  }
  EXPECT_EQ(wrong, 0U) << what << "[" << where << "]: got " << got[where] << ", expected "
                       << expected[where];
}

// Outside of [shift, shift + count) nothing may have changed.
template <typename T>
void expect_untouched(const std::vector<T>& got, const std::vector<T>& before, const Shape& shape,
                      const char* what) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (i >= shape.shift && i < shape.shift + shape.count) continue;
    ASSERT_EQ(got[i], before[i]) << what << "[" << i << "] is not this parameter's";
  }
}

void expect_same(const Both& both, const std::vector<Host>& before, const char* rule) {
  for (size_t p = 0; p < both.host.size(); ++p) {
    const Host& host = both.host[p];
    const OnDevice& device = *both.device[p];
    const Shape& shape = host.shape;
    SCOPED_TRACE(testing::Message() << rule << ", parameter " << p << " of " << shape.count
                                    << " elements, shift " << shape.shift);
    const auto weight = device.weight.host();
    expect_near(weight, host.weight, 1, "weight");
    expect_near(device.first.host(), host.first, 1, "first");
    expect_near(device.second.host(), host.second, 1e-6, "second");
    EXPECT_EQ(device.steps.host(), host.steps);
    expect_untouched(weight, before[p].weight, shape, "weight");
    expect_untouched(device.first.host(), before[p].first, shape, "first");
    expect_untouched(device.second.host(), before[p].second, shape, "second");

    auto low = before[p].low;  // the kernel's own weights, rounded
    for (size_t i = shape.shift; shape.low && i < shape.shift + shape.count; ++i) {
      low[i] = to_bf16(weight[i]);
    }
    EXPECT_TRUE(device.low.host() == low) << "low";
  }
}

struct Named {
  const char* name;
  UpdateRule rule;
};
std::vector<Named> rules() {
  return {{"sgd", {.momentum = 0.9F}},
          {"nesterov", {.momentum = 0.9F, .nesterov = true}},
          {"adam", {.kind = Kind::kAdam}},
          {"adam with large eps", {.kind = Kind::kAdam, .beta1 = 0.5F, .beta2 = 0.9F, .eps = 0.1F}},
          {"adamw", {.kind = Kind::kAdamW}}};
}

void expect_like_reference(const std::vector<Shape>& shapes, bool clipped) {
  const auto before = make(shapes);
  for (auto [name, rule] : rules()) {
    Both both(before);
    const auto count = static_cast<int64_t>(shapes.size());
    const float lr = 0.02F, scale = 0.25F;
    const Device<float> scalars({lr, scale});
    UpdateRule on_device = rule;
    on_device.lr = scalars.get();
    on_device.scale = clipped ? scalars.get() + 1 : nullptr;
    rule.lr = &lr;
    rule.scale = clipped ? &scale : nullptr;
    for (int step = 0; step < 3; ++step) {
      cuda::update(both.device_slots().data(), count, on_device, nullptr);
      cuda::reference::update(both.host_slots().data(), count, rule);
    }
    expect_same(both, before, name);
  }
}

// Aligned and not, small and in several chunks, with and without a copy.
std::vector<Shape> many(size_t count, bool first) {
  std::vector<Shape> out;
  for (size_t i = 0; i < count; ++i) {
    Shape shape{i % 61, i % 3 == 0 ? Type::kBFloat16 : Type::kFloat, i % 5 == 0 ? 0 : 0.01F};
    if (i % 50 == 7) shape.count = 4096 * (i % 4) + i % 9;
    shape.first = first;
    shape.low = i % 4 != 1;
    shape.shift = i % 7 < 4 ? 0 : i % 7 - 3;
    out.push_back(shape);
  }
  return out;
}

class OptimKernel : public KernelTest {};

TEST_F(OptimKernel, UpdateIsItsReference) {
  std::vector<Shape> shapes;
  for (const size_t count : {1, 3, 1000, 4096, 1000003}) {
    shapes.push_back({count, Type::kFloat, 5e-4F});
    shapes.push_back({count, Type::kBFloat16, 0.01F});
  }
  expect_like_reference(shapes, false);
  for (const auto& shape : shapes) {
    if (shape.count < 2000) expect_like_reference({shape}, true);
  }
}

TEST_F(OptimKernel, ManyParametersAndUnalignedOnes) {
  expect_like_reference(many(300, true), true);
  expect_like_reference(many(700, true), false);  // more than fit into one launch
}

TEST_F(OptimKernel, SgdWithoutMomentum) {
  const auto before = make(many(20, /*first=*/false));
  Both both(before);
  const float lr = 0.1F;
  const Device<float> on_device(std::vector<float>{lr});
  UpdateRule rule{.momentum = 0.9F};
  rule.lr = on_device.get();
  cuda::update(both.device_slots().data(), 20, rule, nullptr);
  rule.lr = &lr;
  cuda::reference::update(both.host_slots().data(), 20, rule);
  expect_same(both, before, "sgd without momentum");
}

TEST_F(OptimKernel, UpdateCanBeReplayedFromAGraph) {
  const auto before = make(many(330, true));
  Both both(before);
  const float lr = 0.02F;
  const Device<float> on_device(std::vector<float>{lr});
  UpdateRule rule{.kind = Kind::kAdam};
  rule.lr = on_device.get();
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  must(cudaStreamCreate(&stream));
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  {
    auto slots = both.device_slots();  // gone before the replay
    cuda::update(slots.data(), 330, rule, stream);
    slots.assign(330, ParamSlot());
  }
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  rule.lr = &lr;
  for (int step = 0; step < 3; ++step) {
    must(cudaGraphLaunch(exec, stream));
    cuda::reference::update(both.host_slots().data(), 330, rule);
  }
  must(cudaStreamSynchronize(stream));
  expect_same(both, before, "replayed");
  must(cudaGraphExecDestroy(exec));
  must(cudaGraphDestroy(graph));
  must(cudaStreamDestroy(stream));
}

TEST_F(OptimKernel, RefreshLowRoundsToNearestEven) {
  auto shapes = many(400, true);
  shapes.push_back({1000003, Type::kFloat, 0});
  const auto before = make(shapes);
  const Both both(before);
  cuda::refresh_bf16_copies(both.device_slots().data(), static_cast<int64_t>(shapes.size()),
                            nullptr);
  expect_same(both, before, "refresh");  // rounds what lies on the device

  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.00390625F, 1.01171875F, -1.00390625F, 3.4e38F,
                                     inf,         -inf,        1e-40F};
  const Device<float> weight(values);
  const Device<uint16_t> low(values.size());
  ParamSlot slot;
  slot.weight = weight.get();
  slot.low = low.get();
  slot.count = static_cast<int64_t>(values.size());
  cuda::refresh_bf16_copies(&slot, 1, nullptr);
  std::vector<uint16_t> expected;
  for (const float value : values) expected.push_back(to_bf16(value));
  EXPECT_EQ(low.host(), expected);
  EXPECT_EQ(expected[0], 0x3F80);  // ties: down to the even one, up to the even one
  EXPECT_EQ(expected[1], 0x3F82);
}

}  // namespace
}  // namespace adagp::test
