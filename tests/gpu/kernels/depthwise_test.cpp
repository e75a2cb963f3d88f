#include "adagp/gpu/cuda/conv/depthwise.h"

#include "gpu/kernels/device_array.h"

namespace adagp::test {
namespace {

using cuda::DepthwiseArgs;
using cuda::Map;
using cuda::Type;

class DepthwiseKernel : public KernelTest {};

struct DepthwiseRun {
  std::vector<uint8_t> y, dx, dweight;
};

struct DepthwiseProblem {
  DepthwiseArgs args;
  std::vector<uint8_t> x, weight, dy;

  DepthwiseProblem(const Map& map, int stride, Type type) {
    args.map = map;
    args.stride = stride;
    args.type = type;
    const Map out = cuda::depthwise_output(map, stride);
    x = packed(normal(static_cast<size_t>(map.count()), 1), type);
    weight = packed(normal(static_cast<size_t>(9 * map.channels), 2), type);
    dy = packed(normal(static_cast<size_t>(out.count()), 3), type);
  }

  DepthwiseRun by_reference() const {
    DepthwiseRun run{std::vector<uint8_t>(dy.size()), std::vector<uint8_t>(x.size()),
                     std::vector<uint8_t>(weight.size())};
    DepthwiseArgs a = args;
    a.x = x.data();
    a.weight = weight.data();
    a.dy = dy.data();
    a.y = run.y.data();
    a.dx = run.dx.data();
    a.dweight = run.dweight.data();
    cuda::reference::depthwise_forward(a);
    cuda::reference::depthwise_input_gradient(a);
    cuda::reference::depthwise_weight_gradient(a);
    return run;
  }

  DepthwiseRun by_kernels() const {
    const Device<uint8_t> device_x(x), device_weight(weight), device_dy(dy);
    const MarkedBytes y(dy.size()), dx(x.size());
    const MarkedBytes dweight(weight.size());
    const auto floats = cuda::depthwise_workspace(args.type, args.map, args.stride);
    const Device<float> workspace(std::vector<float>(static_cast<size_t>(floats), NAN));
    DepthwiseArgs a = args;
    a.x = device_x.get();
    a.weight = device_weight.get();
    a.dy = device_dy.get();
    a.y = y.get();
    a.dx = dx.get();
    a.dweight = dweight.get();
    a.workspace = workspace.get();
    cuda::depthwise_forward(a, nullptr);
    cuda::depthwise_input_gradient(a, nullptr);
    cuda::depthwise_weight_gradient(a, nullptr);
    return {y.result(), dx.result(), dweight.result()};
  }
};

void expect_reference(const Map& map, int stride, Type type) {
  SCOPED_TRACE(testing::Message() << map.batch << "x" << map.height << "x" << map.width << "x"
                                  << map.channels << " stride " << stride
                                  << (type == Type::kFloat ? " fp32" : " bf16"));
  const DepthwiseProblem problem(map, stride, type);
  const DepthwiseRun got = problem.by_kernels(), expected = problem.by_reference();
  // Nine products are added in the reference's order: no tolerance.
  EXPECT_TRUE(got.y == expected.y);
  EXPECT_TRUE(got.dx == expected.dx);
  // fp32 sums of up to 10^5 products; bf16 keeps eight bits.
  expect_close(unpacked(got.dweight, type), unpacked(expected.dweight, type),
               type == Type::kFloat ? 1e-5 : 1.0 / 256, "dweight");
  const DepthwiseRun again = problem.by_kernels();
  EXPECT_TRUE(again.y == got.y && again.dx == got.dx && again.dweight == got.dweight)
      << "another run gave other bits";
}

TEST_F(DepthwiseKernel, IsItsReference) {
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    for (const int stride : {1, 2}) {
      expect_reference({1, 1, 1, 8}, stride, type);
      expect_reference({3, 7, 5, 8}, stride, type);
      expect_reference({2, 1, 6, 24}, stride, type);
      expect_reference({2, 5, 1, 264}, stride, type);
      expect_reference({5, 13, 6, 40}, stride, type);
      expect_reference({4, 4, 4, 960}, stride, type);
      expect_reference({13, 32, 32, 96}, stride, type);
      expect_reference({256, 8, 8, 144}, stride, type);
    }
  }
}

}  // namespace
}  // namespace adagp::test
