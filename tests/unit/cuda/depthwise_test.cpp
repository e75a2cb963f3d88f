// The depthwise kernels' own code, run on the CPU, and their references, against ATen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/cuda/depthwise_on_host.h"

namespace adagp::cuda {
namespace {

struct DepthwiseCase {
  int64_t batch, height, width, channels;
  int stride;
};

// One step of each kind: rows of the map that are no multiple of a tile, maps smaller than a
// filter, channels of several blocks, the last block not full, many chunks, chunks of several
// rounds.
const DepthwiseCase kDepthwiseCases[] = {{2, 8, 8, 16, 1},  {2, 8, 8, 16, 2},    {3, 7, 5, 8, 1},
                                         {3, 7, 5, 8, 2},   {1, 1, 1, 8, 1},     {1, 1, 1, 8, 2},
                                         {2, 2, 2, 24, 1},  {2, 2, 3, 24, 2},    {1, 3, 9, 520, 1},
                                         {1, 9, 3, 264, 2}, {4, 4, 4, 136, 1},   {5, 6, 13, 40, 2},
                                         {9, 32, 32, 8, 1}, {40, 16, 16, 8, 2},  {1, 5, 1, 16, 2},
                                         {1, 1, 6, 16, 2},  {13, 32, 32, 128, 1}};

struct DepthwiseTensors {
  at::Tensor x, weight, dy, y, dx, dweight, workspace;  // maps are [B, H, W, C]
  DepthwiseArgs args;

  DepthwiseTensors(const DepthwiseCase& c, at::ScalarType type) {
    args.type = type == at::kFloat ? Type::kFloat : Type::kBFloat16;
    args.map = {c.batch, c.height, c.width, c.channels};
    args.stride = c.stride;
    const Map out = depthwise_output(args.map, c.stride);
    const auto shape = [](const Map& map) {
      return std::vector<int64_t>{map.batch, map.height, map.width, map.channels};
    };
    x = at::randn(shape(args.map)).to(type);
    weight = at::randn({c.channels, 1, 3, 3}).to(type);
    dy = at::randn(shape(out)).to(type);
    // What nobody writes stays NaN.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    y = at::full(shape(out), nan, type);
    dx = at::full(shape(args.map), nan, type);
    dweight = at::full({c.channels, 1, 3, 3}, nan, type);
    workspace = at::full({depthwise_workspace(args.type, args.map, args.stride)}, nan, at::kFloat);
    args.x = x.const_data_ptr();
    args.weight = weight.const_data_ptr();
    args.dy = dy.const_data_ptr();
    args.y = y.mutable_data_ptr();
    args.dx = dx.mutable_data_ptr();
    args.dweight = dweight.mutable_data_ptr();
    args.workspace = workspace.mutable_data_ptr<float>();
  }

  std::array<at::Tensor, 3> results() const { return {y.clone(), dx.clone(), dweight.clone()}; }

  // y, dx, dweight in double by ATen, as [B, H, W, C] and [C, 1, 3, 3].
  std::array<at::Tensor, 3> expected() const {
    const auto planes = [](const at::Tensor& t) {
      return t.to(at::kDouble).permute({0, 3, 1, 2}).contiguous();
    };
    const at::Tensor input = planes(x), filters = weight.to(at::kDouble);
    const int64_t groups = weight.size(0), stride = args.stride;
    const at::Tensor out = at::conv2d(input, filters, {}, {stride, stride}, {1, 1}, {1, 1}, groups);
    const auto [of_x, of_weight, of_bias] = at::convolution_backward(
        planes(dy), input, filters, at::OptionalIntArrayRef(), {stride, stride}, {1, 1}, {1, 1},
        false, {0, 0}, groups, {true, true, false});
    return {out.permute({0, 2, 3, 1}), of_x.permute({0, 2, 3, 1}), of_weight};
  }
};

std::array<at::Tensor, 3> by_kernel_code(DepthwiseTensors& t) {
  test::forward_on_host(t.args);
  test::input_gradient_on_host(t.args);
  test::weight_gradient_on_host(t.args);
  return t.results();
}

std::array<at::Tensor, 3> by_reference(DepthwiseTensors& t) {
  reference::depthwise_forward(t.args);
  reference::depthwise_input_gradient(t.args);
  reference::depthwise_weight_gradient(t.args);
  return t.results();
}

void expect_within(const at::Tensor& got, const at::Tensor& expected, at::ScalarType type,
                   const char* what) {
  // fp32: sums of up to 10^4 products. bf16: half a unit of the eighth bit, for each element.
  const double share = type == at::kFloat ? 2e-6 : 1.0 / 256;
  const double sums = 2e-6 * expected.abs().max().item<double>() + 1e-6;
  EXPECT_TRUE(at::allclose(got.to(at::kDouble), expected, share, sums)) << what;
}

template <typename F>
void for_all_cases(const F& f) {
  at::manual_seed(41);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const DepthwiseCase& c : kDepthwiseCases) {
      SCOPED_TRACE(testing::Message() << c.batch << "x" << c.height << "x" << c.width << "x"
                                      << c.channels << " stride " << c.stride << " " << type);
      DepthwiseTensors tensors(c, type);
      f(tensors, type);
    }
  }
}

TEST(Depthwise, TheKernelsCodeIsAtensConvolutionAndItsGradients) {
  for_all_cases([](DepthwiseTensors& t, at::ScalarType type) {
    const auto got = by_kernel_code(t), expected = t.expected();
    expect_within(got[0], expected[0], type, "output");
    expect_within(got[1], expected[1], type, "gradient of the input");
    expect_within(got[2], expected[2], type, "gradient of the weight");
  });
}

TEST(Depthwise, TheReferenceIsAtensConvolutionAndItsGradients) {
  for_all_cases([](DepthwiseTensors& t, at::ScalarType type) {
    const auto got = by_reference(t), expected = t.expected();
    expect_within(got[0], expected[0], type, "output");
    expect_within(got[1], expected[1], type, "gradient of the input");
    expect_within(got[2], expected[2], type, "gradient of the weight");
  });
}

// Both add the nine products in the same order. The tests of the kernels rely on it.
TEST(Depthwise, OutputAndInputGradientAreTheReferencesBitForBit) {
  for_all_cases([](DepthwiseTensors& t, at::ScalarType) {
    const auto kernel = by_kernel_code(t), reference = by_reference(t);
    EXPECT_TRUE(at::equal(kernel[0], reference[0]));
    EXPECT_TRUE(at::equal(kernel[1], reference[1]));
  });
}

TEST(Depthwise, EveryTileBelongsToOneBlockAndEveryChannelToOneThread) {
  for (const int64_t channels : {8, 96, 144, 264, 960, 4096}) {
    for (const int64_t batch : {1, 7, 256}) {
      DepthwiseArgs args;
      args.map = {batch, 16, 13, channels};
      args.type = Type::kBFloat16;
      const auto covers = [&](const depthwise::Lanes& lanes, int threads) {
        EXPECT_LE(lanes.width * lanes.rows, threads);
        EXPECT_GE(lanes.rows, 1);
        EXPECT_GE(lanes.parts * lanes.width * depthwise::kLanes, channels);
        EXPECT_LT((lanes.parts - 1) * lanes.width * depthwise::kLanes, channels);
      };
      const auto cut = [&](const depthwise::Tiles& tiles, int blocks) {
        EXPECT_GE(int64_t{tiles.piece} * blocks, int64_t{tiles.count});
        EXPECT_LT(int64_t{tiles.piece} * (blocks - 1), int64_t{tiles.count});
      };
      const auto gather = depthwise::plan_forward(args);
      covers(gather.lanes, depthwise::Gather::kThreads);
      cut(gather.tiles, gather.blocks);
      const auto reduce = depthwise::plan_weight_gradient(args);
      covers(reduce.lanes, depthwise::Reduce::kThreads);
      cut(reduce.tiles, reduce.chunks);
      // One wave of blocks, and a round for those that do not divide evenly.
      EXPECT_LE(reduce.chunks * reduce.lanes.parts, 3 * 132 + reduce.lanes.parts);
      // The first round's columns are threads of one block.
      EXPECT_LE(depthwise::kLanes * reduce.lanes.width, depthwise::Reduce::kThreads);
    }
  }
}

TEST(Depthwise, RefusesWhatTheVectorsDoNotFit) {
  EXPECT_TRUE(depthwise_fits({1, 4, 4, 8}, 1));
  EXPECT_FALSE(depthwise_fits({1, 4, 4, 12}, 1));
  EXPECT_FALSE(depthwise_fits({1, 4, 4, 8}, 3));
  EXPECT_FALSE(depthwise_fits({0, 4, 4, 8}, 1));
  DepthwiseArgs args;
  args.map = {1, 4, 4, 12};
  EXPECT_THROW(depthwise::plan_forward(args), Error);
  EXPECT_THROW(depthwise::plan_weight_gradient(args), Error);
}

}  // namespace
}  // namespace adagp::cuda
