// What is told of operations without weights: on meta tensors everything, on real ones nothing.

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "adagp/engine/nn/conv_norm.h"

namespace adagp::nn {
namespace {

struct ToldOp {
  std::string op;
  std::vector<std::vector<int64_t>> activations;
  int64_t parameters = 0;
  std::vector<int64_t> output;
};

class OpSink : public TapSink {
 public:
  void on_output(const WeightLayer&, const at::Tensor&, const at::Tensor& y) override {
    told.push_back({"product", {}, 0, y.sizes().vec()});
  }
  void on_op(const char* op, const std::vector<at::Tensor>& inputs,
             const at::Tensor& output) override {
    ToldOp one{op, {}, 0, output.sizes().vec()};
    for (const at::Tensor& x : inputs) {
      if (x.requires_grad()) {
        one.parameters += x.numel();
      } else {
        one.activations.push_back(x.sizes().vec());
      }
    }
    told.push_back(one);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const ToldOp& one : told) out.push_back(one.op);
    return out;
  }
  std::vector<ToldOp> told;
};

using Names = std::vector<std::string>;
using Shape = std::vector<int64_t>;

TEST(OpReports, ConvNormTellsEveryStepInItsOrder) {
  Conv2d layer(conv(3, 4, 3, 1, 1, false));
  BatchNorm2d norm(4);
  NormAct act = relu_act();
  act.residual = [] { return torch::zeros({2, 4, 6, 6}, at::kMeta); };
  act.pool = Pool2d{2, 2};
  OpSink sink;
  TapScope taps(sink);
  conv_norm(*layer, *norm, torch::zeros({2, 3, 6, 6}, at::kMeta), act);
  ASSERT_EQ(sink.names(), (Names{"product", "batch_norm", "add", "activation", "pool"}));
  EXPECT_EQ(sink.told[1].parameters, 8);  // weight and bias of four channels
  EXPECT_EQ(sink.told[1].activations, (std::vector<Shape>{{2, 4, 6, 6}}));
  EXPECT_EQ(sink.told[2].activations, (std::vector<Shape>{{2, 4, 6, 6}, {2, 4, 6, 6}}));
  EXPECT_EQ(sink.told[4].activations, (std::vector<Shape>{{2, 4, 6, 6}}));
  EXPECT_EQ(sink.told[4].output, (Shape{2, 4, 3, 3}));
}

TEST(OpReports, OtherOperationsTellTheirsToo) {
  BatchNorm2d norm(3);
  const auto x = torch::zeros({2, 3, 6, 6}, at::kMeta);
  OpSink sink;
  TapScope taps(sink);
  norm_relu(*norm, x);
  relu6_(x);
  concat({x, x, x});
  avg_pool2d(x, Pool2d{3, 1, 1});
  adaptive_avg_pool2d(x, 1);
  EXPECT_EQ(sink.names(),
            (Names{"batch_norm", "activation", "activation", "concat", "pool", "pool"}));
  EXPECT_EQ(sink.told[3].activations.size(), 3u);
  EXPECT_EQ(sink.told[3].output, (Shape{2, 9, 6, 6}));
  EXPECT_EQ(sink.told[5].output, (Shape{2, 3, 1, 1}));
}

TEST(OpReports, RealTensorsTellNothing) {
  Conv2d layer(conv(3, 4, 3, 1, 1, false));
  BatchNorm2d norm(4), before(3);
  NormAct act = relu_act();
  act.pool = Pool2d{2, 2};
  OpSink sink;
  TapScope taps(sink);
  const auto x = torch::zeros({2, 3, 6, 6});
  conv_norm(*layer, *norm, norm_relu(*before, x), act);
  avg_pool2d(concat({x, x}), Pool2d{2, 2});
  EXPECT_EQ(sink.names(), Names{"product"});
}

}  // namespace
}  // namespace adagp::nn
