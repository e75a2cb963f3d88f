// Do the loops compute the layer's products? They run here on small tensors.

#include "adagp/sim/exchange/loop_nest.h"

#include <functional>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::exchange {
namespace {

using accel::Pass;
using Values = std::map<std::vector<int64_t>, int64_t>;

layers::Row row_of(const char* name, const char* op, std::array<int64_t, 3> in,
                   std::array<int64_t, 3> out, int64_t kernel) {
  layers::Row row;
  row.name = name;
  row.op = op;
  row.input = in;
  row.output = out;
  row.kernel = {kernel, kernel};
  return row;
}

// A first layer, so that the second one has an input gradient, too.
std::vector<LoopNest> nests_after_first(layers::Row row, int64_t batch) {
  layers::Table table{"net", "x", {row_of("first", "linear", {2, 1, 1}, {2, 1, 1}, 1), row}};
  for (layers::Row& one : table.rows) layers::complete(one);
  std::vector<LoopNest> nests = loop_nests(table, batch);
  nests.erase(nests.begin(), nests.begin() + 2);
  return nests;
}

using Counters = std::array<int64_t, kLoops>;

void for_each(const LoopNest& nest, const std::function<void(const Counters&)>& body) {
  Counters at{};
  while (true) {
    body(at);
    size_t loop = 0;
    while (loop < kLoops && ++at[loop] == nest.sizes[loop]) at[loop++] = 0;
    if (loop == kLoops) return;
  }
}

// The place in a tensor, or nothing when it lies in the padding.
std::optional<std::vector<int64_t>> place(const Tensor& tensor, const Counters& at) {
  std::vector<int64_t> out;
  for (const Index& index : tensor.indices) {
    int64_t value = at[static_cast<size_t>(index.loop)];
    if (index.tap) {
      value = value * index.stride + at[static_cast<size_t>(*index.tap)] * index.dilation -
              index.padding;
      if (value < 0 || value >= index.size) return std::nullopt;
    }
    out.push_back(value);
  }
  return out;
}

Values filled(const LoopNest& nest, const Tensor& tensor, int64_t seed) {
  Values out;
  for_each(nest, [&](const Counters& at) {
    const auto where = place(tensor, at);
    if (!where || out.contains(*where)) return;
    int64_t value = seed;
    for (const int64_t one : *where) value = (value * 31 + one * 17 + 7) % 1009;
    out[*where] = value % 9 - 4;
  });
  return out;
}

Values run(const LoopNest& nest, const Values& left, const Values& right) {
  Values out;
  for_each(nest, [&](const Counters& at) {
    const auto to = place(nest.result, at), a = place(nest.left, at), b = place(nest.right, at);
    if (to && a && b) out[*to] += left.at(*a) * right.at(*b);
  });
  return out;
}

int64_t dot(const Values& a, const Values& b) {
  int64_t sum = 0;
  for (const auto& [where, value] : a) sum += b.contains(where) ? value * b.at(where) : 0;
  return sum;
}

int64_t product_of(const LoopNest& nest, const std::vector<Loop>& loops) {
  return std::accumulate(loops.begin(), loops.end(), int64_t{1},
                         [&](int64_t sum, Loop loop) { return sum * nest.size(loop); });
}

// <dY, Y(X, W)> = <dX(dY, W), X> = <dW(X, dY), W>: what makes them the gradients.
void expect_gradients(const std::vector<LoopNest>& nests) {
  ASSERT_EQ(nests.size(), 3u);
  const LoopNest& forward = nests[0];
  const Values x = filled(forward, forward.left, 1), w = filled(forward, forward.right, 2);
  const Values dy = filled(forward, forward.result, 3);
  const int64_t expected = dot(dy, run(forward, x, w));
  EXPECT_NE(expected, 0);
  EXPECT_EQ(dot(run(nests[1], dy, w), x), expected);
  EXPECT_EQ(dot(run(nests[2], x, dy), w), expected);
}

layers::Row strided() {
  layers::Row row = row_of("conv", "conv2d", {4, 7, 9}, {6, 3, 4}, 3);
  row.stride = {2, 2};
  row.padding = {1, 1};
  row.dilation = {2, 2};
  row.groups = 2;
  return row;
}

TEST(LoopNest, OfAStridedDilatedConvolutionWithGroups) {
  const auto nests = nests_after_first(strided(), 2);
  expect_gradients(nests);
  // The same output from the definition, at one place.
  const LoopNest& forward = nests[0];
  const Values x = filled(forward, forward.left, 1), w = filled(forward, forward.right, 2);
  int64_t sum = 0;
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t s = 0; s < 3; ++s) {
        const int64_t h = 2 * 2 + 2 * r - 1, v = 2 * 3 + 2 * s - 1;
        if (h >= 7 || v >= 9) continue;
        sum += x.at({1, 1, c, 0, h, v}) * w.at({1, 2, c, 0, r, s});
      }
    }
  }
  EXPECT_EQ(run(forward, x, w).at({1, 1, 2, 0, 2, 3}), sum);
}

TEST(LoopNest, OfATransposedConvolution) {
  layers::Row row = row_of("up", "conv_transpose", {3, 3, 4}, {2, 6, 8}, 4);
  row.stride = {2, 2};
  row.padding = {1, 1};
  const auto nests = nests_after_first(row, 2);
  expect_gradients(nests);
  EXPECT_EQ(nests[0].n,
            (std::vector<Loop>{Loop::kFilter, Loop::kTapWidth, Loop::kTapHeight, Loop::kTapDepth}));
}

TEST(LoopNest, OfAThirdAxisALinearLayerAndAProductOfActivations) {
  layers::Row volume = row_of("volume", "conv3d", {2, 4, 4}, {3, 4, 4}, 3);
  volume.padding = {1, 1};
  volume.depth = {5, 2, 3, 2, 0, 1};
  expect_gradients(nests_after_first(volume, 1));
  expect_gradients(nests_after_first(row_of("fc", "linear", {5, 1, 3}, {4, 1, 3}, 1), 2));
  layers::Row heads = row_of("heads", "matmul", {6, 1, 4}, {4, 1, 4}, 1);
  heads.groups = 2;
  expect_gradients(nests_after_first(heads, 3));
}

TEST(LoopNest, OfEveryNetworkOfTheZooHasItsMacs) {
  for (const std::string& model : zoo::models()) {
    for (const std::string& input : zoo::inputs(model)) {
      for (const LoopNest& nest : loop_nests(zoo::layer_table(model, input), 4)) {
        const auto& [m, k, n] = nest.work.gemm;
        EXPECT_EQ(product_of(nest, nest.m), m) << model << " " << product_name(nest);
        EXPECT_EQ(product_of(nest, nest.k), k) << model << " " << product_name(nest);
        EXPECT_EQ(product_of(nest, nest.n), n) << model << " " << product_name(nest);
        EXPECT_EQ(nest.size(Loop::kGroup), nest.work.groups) << model << product_name(nest);
      }
    }
  }
}

TEST(LoopNest, FollowsThePlan) {
  layers::Table table{"net",
                      "x",
                      {strided(), row_of("norm", "batch_norm", {6, 3, 4}, {6, 3, 4}, 1),
                       row_of("fc", "linear", {72, 1, 1}, {4, 1, 1}, 1)}};
  for (layers::Row& row : table.rows) layers::complete(row);
  std::vector<std::string> names;
  for (const LoopNest& nest : loop_nests(table, 1)) names.push_back(product_name(nest));
  EXPECT_EQ(names, (std::vector<std::string>{"conv.forward", "conv.weight_gradient", "fc.forward",
                                             "fc.input_gradient", "fc.weight_gradient"}));
  table.rows.erase(table.rows.begin());
  table.rows.pop_back();
  EXPECT_THROW(loop_nests(table, 1), DataError);
}

}  // namespace
}  // namespace adagp::exchange
