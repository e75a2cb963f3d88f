#include "adagp/engine/nn/attention.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/embedding.h"
#include "adagp/engine/nn/layer_norm.h"

namespace adagp::nn {
namespace {

// One query at a time, by the definition.
at::Tensor slow_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const AttentionMask& mask) {
  at::Tensor out = at::zeros({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
  for (int64_t b = 0; b < q.size(0); ++b) {
    for (int64_t h = 0; h < q.size(1); ++h) {
      for (int64_t t = 0; t < q.size(2); ++t) {
        double sum = 0;
        for (int64_t s = 0; s < k.size(2); ++s) {
          if (mask.causal && s > t) continue;
          if (mask.keys.defined() && !mask.keys[b][s].item<bool>()) continue;
          const double dot = (q[b][h][t] * k[b][h][s]).sum().item<double>();
          const double share = std::exp(dot / std::sqrt(static_cast<double>(q.size(3))));
          out[b][h][t] += v[b][h][s] * share;
          sum += share;
        }
        out[b][h][t] /= sum;
      }
    }
  }
  return out;
}

at::Tensor some_keys() {
  at::Tensor keys = at::ones({2, 5}, at::kBool);
  keys[1].narrow(0, 2, 3).fill_(false);
  return keys;
}

TEST(Attention, IsTheWeightedMeanByDefinition) {
  at::manual_seed(1);
  const auto shape = {int64_t{2}, int64_t{3}, int64_t{5}, int64_t{4}};
  const at::Tensor q = at::randn(shape, at::kDouble), k = at::randn(shape, at::kDouble),
                   v = at::randn(shape, at::kDouble);
  for (const bool causal : {false, true}) {
    for (const bool masked : {false, true}) {
      const AttentionMask mask{masked ? some_keys() : at::Tensor(), causal};
      EXPECT_TRUE(at::allclose(attend(q, k, v, mask), slow_attention(q, k, v, mask), 1e-10, 1e-12))
          << causal << masked;
    }
  }
}

// What a sink is told, in order.
struct Record : TapSink {
  void on_output(const WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    rows.push_back({layer.path(), 0, input, output});
  }
  void on_part(const WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override {
    rows.push_back({layer.path(), first, input, output});
  }
  void on_op(const char* op, const std::vector<at::Tensor>&, const at::Tensor& output) override {
    rows.push_back({op, -1, {}, output});
  }
  struct Row {
    std::string name;
    int64_t first;
    at::Tensor input, output;
  };
  std::vector<Row> rows;
};

TEST(MultiheadAttention, ReportsOneProductForItselfAndTwoBetweenSequences) {
  at::manual_seed(2);
  MultiheadAttention attention(8, 2);
  collect(*attention);
  const at::Tensor x = at::randn({2, 3, 8}), memory = at::randn({2, 5, 8});
  const at::Tensor weight = attention->weight.detach(), bias = attention->bias.detach();
  {
    Record record;
    const TapScope taps(record);
    attention->forward(x, {});
    ASSERT_EQ(record.rows.size(), 2U);
    EXPECT_TRUE(at::allclose(record.rows[0].output, at::linear(x, weight, bias)));
    EXPECT_EQ(record.rows[1].name, "out_proj");
  }
  Record record;
  const TapScope taps(record);
  attention->forward(x, memory, {some_keys()});
  ASSERT_EQ(record.rows.size(), 3U);
  EXPECT_TRUE(record.rows[0].input.is_same(x));
  EXPECT_EQ(record.rows[0].first, 0);
  EXPECT_TRUE(
      at::allclose(record.rows[0].output, at::linear(x, weight, bias).narrow(2, 0, 8), 1e-5, 1e-6));
  EXPECT_TRUE(record.rows[1].input.is_same(memory));
  EXPECT_EQ(record.rows[1].first, 8);
  EXPECT_TRUE(at::allclose(record.rows[1].output, at::linear(memory, weight, bias).narrow(2, 8, 16),
                           1e-5, 1e-6));
}

TEST(MultiheadAttention, TellsShapesOfBothProducts) {
  const ShapeOnlyScope shapes;
  MultiheadAttention attention(8, 2);
  const auto meta = at::device(at::kMeta);
  Record record;
  const TapScope taps(record);
  const at::Tensor y =
      attention->forward(at::empty({1, 3, 8}, meta), at::empty({1, 5, 8}, meta), {});
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{1, 3, 8}));
  ASSERT_EQ(record.rows.size(), 6U);
  EXPECT_EQ(record.rows[2].name, "matmul");
  EXPECT_EQ(record.rows[2].output.sizes(), (std::vector<int64_t>{1, 2, 3, 5}));
  EXPECT_EQ(record.rows[3].name, "softmax");
  EXPECT_EQ(record.rows[4].name, "matmul");
  EXPECT_EQ(record.rows[4].output.sizes(), (std::vector<int64_t>{1, 2, 3, 4}));
}

// With bf16 copies the products are in bf16 and agree to its eight bits.
TEST(MultiheadAttention, ComputesWithLowCopies) {
  at::manual_seed(3);
  MultiheadAttention attention(16, 2);
  const at::Tensor x = at::randn({2, 5, 16});
  const at::Tensor exact = attention->forward(x, {some_keys()});
  attention->make_bf16_copies();
  attention->out_proj->make_bf16_copies();
  const at::Tensor low = attention->forward(x, {some_keys()});
  EXPECT_EQ(low.scalar_type(), at::kBFloat16);
  EXPECT_LT((low - exact).abs().max().item<double>(), 0.03 * exact.abs().max().item<double>());
  low.to(at::kFloat).sum().backward();
  EXPECT_TRUE(attention->bf16_weight.grad().defined());
  EXPECT_FALSE(attention->weight.grad().defined());
}

TEST(MultiheadAttention, RefusesWhatCannotBe) {
  EXPECT_THROW(MultiheadAttention(10, 3), UsageError);
  MultiheadAttention attention(8, 2);
  EXPECT_THROW(attention->forward(at::zeros({2, 3, 7}), {}), UsageError);
}

TEST(LayerNorm, NormalisesTheLastAxis) {
  LayerNorm norm(6);
  {
    const torch::NoGradGuard no_grad;
    norm->weight.uniform_(0.5, 1.5);
    norm->bias.normal_();
  }
  const at::Tensor x = at::randn({4, 3, 6}) * 3 + 1;
  const at::Tensor centred = x - x.mean(-1, true);
  const at::Tensor expected =
      centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * norm->weight + norm->bias;
  EXPECT_TRUE(at::allclose(norm->forward(x), expected, 1e-5, 1e-5));
  EXPECT_EQ(norm->forward(x.to(at::kBFloat16)).scalar_type(), at::kFloat);
  EXPECT_THROW(norm->forward(at::zeros({2, 5})), UsageError);
}

TEST(Embedding, PicksRows) {
  Embedding words(7, 3);
  const at::Tensor y = words->forward(at::tensor({6, 0}, at::kLong).view({1, 2}));
  EXPECT_TRUE(at::equal(y[0][0], words->weight[6]));
  EXPECT_TRUE(at::equal(y[0][1], words->weight[0]));
  EXPECT_THROW(Embedding(0, 3), UsageError);
}

}  // namespace
}  // namespace adagp::nn
