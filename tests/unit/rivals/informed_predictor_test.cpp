// What all predictors that look at activations promise, and head-ridge's own formula.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/predictor/head_ridge.h"
#include "unit/predictor/net.h"
#include "unit/rivals/pass.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::Collect;
using testing_net::ConvNet;
using testing_net::LinearNet;
using testing_net::Pass;
using testing_net::relative_error;

Config config_of(const std::string& kind) {
  Config config;
  config.kind = kind;
  config.lr = 1e-2;
  return config;
}

class Informed : public ::testing::TestWithParam<const char*> {};

TEST_P(Informed, GoesOnFromItsSavedStateBitForBit) {
  at::manual_seed(9);
  ConvNet net;
  const auto one = make_predictor(nn::collect(net), config_of(GetParam()), 5, 10);
  const auto other = make_predictor(nn::collect(net), config_of(GetParam()), 99, 10);
  Pass pass(net, one->needs());
  for (int i = 0; i < 3; ++i) {
    pass.run(4);
    one->observe(pass.summaries, pass.gradients, pass.context);
  }
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : one->state()) saved[name] = tensor.clone();
  other->load_state(saved);
  pass.run(4);
  Collect left_sink, right_sink;
  for (int i = 0; i < 2; ++i) {
    const at::Tensor a = one->observe(pass.summaries, pass.gradients, pass.context);
    const at::Tensor b = other->observe(pass.summaries, pass.gradients, pass.context);
    EXPECT_TRUE(at::equal(a, b));
  }
  const auto left = one->state(), right = other->state();
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, tensor] : left) EXPECT_TRUE(at::equal(tensor, right.at(name))) << name;
  one->predict(pass.summaries, pass.context, left_sink);
  other->predict(pass.summaries, pass.context, right_sink);
  for (const auto& [l, gradient] : left_sink.gradients) {
    EXPECT_TRUE(at::equal(gradient, right_sink.gradients.at(l))) << l;
    EXPECT_GT(gradient.norm().item<double>(), 0) << l;
  }
  for (const auto& [name, tensor] : saved) {
    if (name.starts_with("ridge.cross.")) continue;  // absent before the first batch
    auto without = saved;
    without.erase(name);
    EXPECT_THROW(other->load_state(without), DataError) << name;
  }
}

TEST_P(Informed, UnwantedLayersAreLeftOut) {
  at::manual_seed(10);
  ConvNet net;
  const auto predictor = make_predictor(nn::collect(net), config_of(GetParam()), 5, 10);
  Pass pass(net, predictor->needs());
  pass.run(4);
  predictor->observe(pass.summaries, pass.gradients, pass.context);
  for (const int64_t unwanted : {1, 3}) {
    Collect sink;
    sink.unwanted = unwanted;
    predictor->predict(pass.summaries, pass.context, sink);
    EXPECT_EQ(sink.gradients.size(), 3U);
    EXPECT_FALSE(sink.gradients.contains(static_cast<size_t>(unwanted)));
  }
  EXPECT_GT(predictor->macs(4), 0);
  EXPECT_GT(predictor->macs(8), predictor->macs(4));
  EXPECT_GT(predictor->learning_macs(4), 0);
  EXPECT_GT(predictor->parameter_count(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Informed,
                         ::testing::Values("dfa", "dfa-random", "vt", "dni", "head-ridge"));

// Multiplications counted by hand: 24 pixels of 4 and 6 of 6 channels, 5 and 3 neurons.
TEST(InformedCost, OfASmallNetwork) {
  ConvNet net;
  const double products = 24 * 4 * 27 + 6 * 6 * 18 + 5 * 36, head = 3 * 5;
  const double outputs = 24 * 4 + 6 * 6 + 5, inputs = 24 * 3 + 24 * 4 + 36,
               pixels = 24 * 4 + 36 + 5;
  const std::map<std::string, double> expected{
      {"dfa", 4 * (3 * outputs + products + head)},
      {"dfa-random", 4 * (3 * outputs + products + head)},
      {"vt", 3 * (4 * inputs + products) + 4 * head},
      {"dni", 4 * (products + head + 2 * 32 * pixels)},
      {"head-ridge", (4 + 32) * head + 33 * (4 * 27 + 6 * 18 + 5 * 36)}};
  for (const auto& [kind, macs] : expected) {
    const auto predictor = make_predictor(nn::collect(net), config_of(kind), 5, 10);
    Pass pass(net, predictor->needs());
    pass.run(4);
    predictor->observe(pass.summaries, pass.gradients, pass.context);
    EXPECT_EQ(predictor->macs(4), macs) << kind;
  }
}

// 15 weights of the head go into 32 features without loss: whatever is linear in the head's
// gradient must be found, a constant too.
TEST(HeadRidge, FindsALinearRelation) {
  at::manual_seed(11);
  LinearNet net;
  Config config = config_of("head-ridge");
  config.parts.get<rivals::PredictorOptions>().forget = 1;
  config.parts.get<rivals::PredictorOptions>().ridge = 1e-9;
  HeadRidgePredictor predictor(nn::collect(net), config, 5, 10);
  Pass pass(net, predictor.needs());
  const at::Tensor slope = at::randn({20, 15}, at::kDouble),
                   constant = at::randn({20}, at::kDouble);
  const auto truth = [&] {
    return (slope.mv(pass.gradients[1].reshape({-1})) + 0.1 * constant).view({5, 4});
  };
  for (int i = 0; i < 40; ++i) {
    pass.run(4);
    predictor.observe(pass.summaries, {truth(), pass.gradients[1]}, pass.context);
  }
  pass.run(4);
  Collect sink;
  predictor.predict(pass.summaries, pass.context, sink);
  // 1e-5: what a ridge of 1e-9 shrinks, times the spread of the features.
  EXPECT_LT(relative_error(sink.gradients.at(0), truth()), 1e-5);
  EXPECT_LT(relative_error(sink.gradients.at(1), pass.gradients[1]), 1e-12);
}

}  // namespace
}  // namespace adagp::predictor
