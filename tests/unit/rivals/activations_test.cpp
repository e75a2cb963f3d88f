// Are the tensors kept at the layers those of which the weight gradients are made?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/rivals/predictor/class_errors.h"
#include "unit/rivals/pass.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::ConvNet;
using testing_net::LinearNet;
using testing_net::Pass;
using testing_net::relative_error;

constexpr double kRounding = 1e-12;  // double, sums of some hundred products

TEST(Activations, InputsAndDeltasGiveTheTrueGradients) {
  at::manual_seed(1);
  ConvNet net;
  Pass pass(net, {.inputs = true, .outputs = true, .deltas = true});
  pass.run(5);
  for (size_t l = 0; l < pass.layers.size(); ++l) {
    const auto& layer = *pass.layers[l];
    const at::Tensor found =
        weight_gradient(layer, pass.activations.input(l), pass.activations.delta(l));
    EXPECT_LT(relative_error(found, pass.gradients[l]), kRounding) << l;
    EXPECT_EQ(found.strides(), layer.weight.strides()) << l;
    EXPECT_EQ(pass.activations.output(l).sizes().vec(), pass.activations.shape(l));
  }
  EXPECT_LT(relative_error(pass.errors(), pass.activations.delta(3)), kRounding);
  // Kept as it came out of the layer: ReLU has overwritten the tensor since.
  EXPECT_LT(pass.activations.output(0).min().item<double>(), 0);
}

TEST(Activations, RowsAreExamplesWhateverTheLayout) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({2, 3, 4, 5});
  const at::Tensor last = x.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::equal(example_rows(x), example_rows(last)));
  EXPECT_EQ(example_rows(last).data_ptr(), last.data_ptr());
  EXPECT_TRUE(at::equal(from_rows(example_rows(x), {9, 3, 4, 5}), x));
  const at::Tensor tokens = at::randn({2, 3, 4});
  EXPECT_TRUE(at::equal(from_rows(example_rows(tokens), {9, 3, 4}), tokens));
}

TEST(Activations, OnlyWhatIsAskedFor) {
  LinearNet net;
  Pass pass(net, {.inputs = true, .last_only = true});
  pass.run(2);
  EXPECT_NO_THROW(pass.activations.input(1));
  EXPECT_THROW(pass.activations.input(0), Error);
  EXPECT_THROW(pass.activations.delta(1), Error);
  EXPECT_EQ(pass.activations.shape(0), (std::vector<int64_t>{2, 5}));
}

TEST(Activations, ALayerMustRunOnceAndAsAWhole) {
  LinearNet net;
  const auto layers = nn::collect(net);
  Activations kept(layers, {.inputs = true});
  const at::Tensor x = net.images(2);
  kept.on_output(*layers[0], x, x);
  EXPECT_THROW(kept.on_output(*layers[0], x, x), UsageError);
  EXPECT_THROW(kept.on_part(*layers[1], 0, x, x), UsageError);
  kept.clear();
  EXPECT_NO_THROW(kept.on_output(*layers[0], x, x));
}

TEST(Activations, OtherOutputsThanClassScoresAreRefused) {
  LinearNet net;
  for (const char* kind : {"dfa", "dfa-random", "vt", "dni", "head-ridge"}) {
    Config config;
    config.kind = kind;
    const auto predictor = make_predictor(nn::collect(net), config, 1, 10);
    ASSERT_TRUE(predictor->needs().any()) << kind;
    Pass pass(net, predictor->needs());
    pass.run(4);
    const auto refused = [&](std::vector<at::Tensor> errors) {
      Context context = pass.context;
      context.errors = std::move(errors);
      EXPECT_THROW(predictor->observe(pass.summaries, pass.gradients, context), UsageError) << kind;
    };
    refused({pass.errors(), pass.errors()});                // an auxiliary head
    refused({pass.errors().unsqueeze(2)});                  // words, boxes
    refused({pass.errors().narrow(1, 0, 2).contiguous()});  // made by another layer than the last
    EXPECT_THROW(predictor->observe(pass.summaries, pass.gradients), Error) << kind;
    EXPECT_NO_THROW(predictor->observe(pass.summaries, pass.gradients, pass.context)) << kind;
  }
}

}  // namespace
}  // namespace adagp::predictor
