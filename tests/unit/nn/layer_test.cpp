#include "adagp/engine/nn/layer.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "adagp/base/core/error.h"

namespace adagp::nn {
namespace {

struct Call {
  const WeightLayer* layer;
  at::Tensor input, output;
};

class RecordingSink : public TapSink {
 public:
  void on_output(const WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    calls.push_back({&layer, input, output});
  }
  std::vector<Call> calls;
};

class TwoLayers : public torch::nn::Module {
 public:
  TwoLayers() {
    second = register_module("second", Linear(4, 2));
    auto group = register_module("group", std::make_shared<torch::nn::Module>("group"));
    first = group->register_module("0", Conv2d(conv(3, 4, 3)));
  }
  Conv2d first{nullptr};
  Linear second{nullptr};
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

TEST(Layer, DrawsTheSameWeightsAsLibTorchForTheSameSeed) {
  torch::manual_seed(7);
  torch::nn::Conv2d their_conv(torch::nn::Conv2dOptions(6, 8, {3, 5}).groups(2));
  torch::nn::Linear their_linear(13, 5);
  torch::manual_seed(7);
  Conv2dOptions options{6, 8};
  options.kernel = {3, 5};
  options.groups = 2;
  Conv2d our_conv(options);
  Linear our_linear(13, 5);
  EXPECT_TRUE(at::equal(our_conv->weight, their_conv->weight));
  EXPECT_TRUE(at::equal(our_conv->bias, their_conv->bias));
  EXPECT_TRUE(at::equal(our_linear->weight, their_linear->weight));
  EXPECT_TRUE(at::equal(our_linear->bias, their_linear->bias));
}

TEST(Layer, ComputesWhatLibTorchComputesBitForBit) {
  torch::manual_seed(1);
  auto theirs = torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 6, {3, 1})
                                      .stride({2, 1})
                                      .padding({1, 0})
                                      .dilation({2, 1})
                                      .groups(2));
  Conv2dOptions options{4, 6, {3, 1}, {2, 1}, {1, 0}, {2, 1}, 2, true};
  torch::manual_seed(1);
  Conv2d ours(options);
  const auto x = torch::randn({2, 4, 9, 7});
  EXPECT_TRUE(at::equal(ours(x), theirs(x)));

  torch::manual_seed(2);
  torch::nn::Linear their_linear(5, 3);
  torch::manual_seed(2);
  Linear our_linear(5, 3);
  const auto tokens = torch::randn({2, 4, 5});
  EXPECT_TRUE(at::equal(our_linear(tokens), their_linear(tokens)));
}

TEST(Layer, ShapeOnlyForwardGivesTheShapeOfARealOne) {
  for (const int64_t kernel : {1, 2, 3, 7}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {0, 1, 3}) {
        for (const int64_t dilation : {1, 2}) {
          Conv2dOptions options{2, 4, {kernel, 1}, {stride, 1}, {padding, 0}, {dilation, 1}, 2};
          Conv2d layer(options);
          const auto x = torch::zeros({2, 2, 14, 5});
          const auto real = layer(x);
          const auto meta = layer(x.to(at::kMeta));
          ASSERT_TRUE(meta.is_meta());
          ASSERT_EQ(meta.sizes(), real.sizes())
              << "kernel " << kernel << " stride " << stride << " padding " << padding;
        }
      }
    }
  }
  Linear linear(5, 3);
  EXPECT_EQ(linear(torch::zeros({2, 7, 5}, at::kMeta)).sizes(), at::IntArrayRef({2, 7, 3}));
}

TEST(Layer, BuiltForShapesHoldsNoMemory) {
  ShapeOnlyScope shapes;
  Linear layer(1 << 20, 1 << 20);  // 4 TiB if it were real
  EXPECT_TRUE(layer->weight.is_meta());
  EXPECT_EQ(layer->weight.numel(), int64_t{1} << 40);
  EXPECT_TRUE(layer(torch::zeros({1, 1 << 20}, at::kMeta)).is_meta());
}

TEST(Layer, ShapeOnlyEndsWithItsScope) {
  EXPECT_FALSE(shape_only());
  {
    ShapeOnlyScope outer;
    { ShapeOnlyScope inner; }
    EXPECT_TRUE(shape_only());
  }
  EXPECT_FALSE(Linear(1, 1)->weight.is_meta());
}

TEST(Layer, CollectFollowsRegistrationAndNamesEachLayer) {
  TwoLayers model;
  const auto layers = collect(model);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0], model.second.get());
  EXPECT_EQ(layers[0]->path(), "second");
  EXPECT_EQ(layers[1]->path(), "group.0");
  EXPECT_EQ(layers[1]->index(), 1);
  EXPECT_EQ(layers[1]->info().cols(), 27);
  EXPECT_EQ(layers[1]->info().rows(), 4);
}

TEST(Tap, IsCalledOncePerLayerWithItsInputAndOutput) {
  TwoLayers model;
  const auto x = torch::randn({2, 3, 3, 3});
  RecordingSink sink;
  at::Tensor y, z;
  {
    TapScope scope(sink);
    y = model.first(x);
    z = model.second(y.flatten(1));
  }
  model.first(x);  // no sink any more
  ASSERT_EQ(sink.calls.size(), 2u);
  EXPECT_EQ(sink.calls[0].layer, model.first.get());
  EXPECT_TRUE(sink.calls[0].input.is_same(x));
  EXPECT_TRUE(sink.calls[0].output.is_same(y));
  EXPECT_EQ(sink.calls[1].layer, model.second.get());
  EXPECT_TRUE(sink.calls[1].output.is_same(z));
}

TEST(Tap, ScopesNestAndRestore) {
  RecordingSink outer, inner;
  Linear layer(1, 1);
  const auto x = torch::zeros({1, 1});
  TapScope outer_scope(outer);
  {
    TapScope inner_scope(inner);
    layer(x);
  }
  layer(x);
  EXPECT_EQ(inner.calls.size(), 1u);
  EXPECT_EQ(outer.calls.size(), 1u);
  EXPECT_EQ(active_sink(), &outer);
}

TEST(Layer, ErrorsNameTheLayerAndBothSizes) {
  TwoLayers model;
  collect(model);
  const auto channels = message_of([&] { model.first(torch::zeros({1, 5, 8, 8})); });
  EXPECT_NE(channels.find("group.0"), std::string::npos) << channels;
  EXPECT_NE(channels.find("[1, 5, 8, 8]"), std::string::npos) << channels;
  EXPECT_NE(channels.find("[B, 3, H, W]"), std::string::npos) << channels;
  const auto small = message_of([&] { model.first(torch::zeros({1, 3, 2, 8}, at::kMeta)); });
  EXPECT_NE(small.find("group.0"), std::string::npos) << small;
  EXPECT_NE(small.find("too small"), std::string::npos) << small;
  const auto features = message_of([&] { model.second(torch::zeros({1, 3})); });
  EXPECT_NE(features.find("second"), std::string::npos) << features;
  EXPECT_THROW(Conv2d(conv(3, 4, 3, 1, 0, true, 2)), UsageError);  // 2 groups of 3 channels
  EXPECT_THROW(Linear(0, 4), UsageError);
}

}  // namespace
}  // namespace adagp::nn
