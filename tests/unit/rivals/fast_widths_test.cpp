// How many bits has which operand, and does training with many bits equal training with all?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/rivals/step/fast_widths.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::step {
namespace {

config::RunConfig fast_config(const std::string& rule, int64_t mantissa = 4) {
  config::RunConfig c = small::config("bp");
  c.precision = "fast";
  c.parts.get<rivals::FastOptions>().rule = rule;
  c.parts.get<rivals::FastOptions>().mantissa = mantissa;
  return c;
}

TEST(FastWidths, TheLimitFallsWithDepthAndTime) {
  EXPECT_DOUBLE_EQ(fast_limit(0.6, 0.3, 0, 0, 10), 0.6);
  EXPECT_DOUBLE_EQ(fast_limit(0.6, 0.3, 0.5, 5, 10), 0.3);
  EXPECT_DOUBLE_EQ(fast_limit(0.6, 0.3, 1, 10, 10), 0);
}

TEST(FastWidths, AdaptiveWidthsFollowWhatTwoBitsLose) {
  const config::RunConfig c = fast_config("adaptive");
  Session s = small::session(c);
  const auto before = small::copy_of(*s.net);
  const auto layers = static_cast<int64_t>(s.layers.size());
  bool low = false, high = false;
  for (const double progress : {0.0, 0.4, 0.9}) {
    s.part<FastWidths>()->before_batch(s, small::batch(c), 0, progress);
    const at::Tensor widths = s.part<FastWidths>()->widths(), r = s.part<FastWidths>()->losses();
    for (int64_t l = 0; l < layers; ++l) {
      for (int64_t operand = 0; operand < 3; ++operand) {
        const double limit =
            fast_limit(c.parts.get<rivals::FastOptions>().alpha,
                       c.parts.get<rivals::FastOptions>().beta, progress, l, layers);
        const bool four = r[l][operand].item<float>() >= limit;
        EXPECT_EQ(widths[l][operand].item<int>(), four ? 4 : 2) << l << " " << operand;
        (four ? high : low) = true;
      }
    }
  }
  EXPECT_TRUE(low && high);  // else nothing was decided
  for (const auto& [name, value] : small::copy_of(*s.net)) {
    EXPECT_TRUE(at::equal(value, before.at(name))) << name << " moved when it was looked at";
  }
  // r of the first layer's weights by the formula: [out, in, kh, kw] in groups along the inputs.
  const at::Tensor w = s.layers[0]->weight.detach().permute({0, 2, 3, 1}).to(at::kDouble);
  const auto rounded = [&](int bits) {
    const at::Tensor quantum = at::exp2(at::floor(at::log2(w.abs().amax(-1, true))) - (bits - 1));
    return at::floor(w.abs() / quantum + 0.5).clamp_max((1 << bits) - 1) * quantum * w.sign();
  };
  ASSERT_LE(w.size(-1), 16);
  const double expected =
      ((rounded(4) - rounded(2)).abs().sum() / rounded(2).abs().sum()).item<double>();
  EXPECT_NEAR(s.part<FastWidths>()->losses()[0][0].item<double>(), expected, 1e-6);
}

TEST(FastWidths, RulesOfTimeAndDepth) {
  const auto widths = [](const std::string& rule, double progress) {
    const config::RunConfig c = fast_config(rule, 3);
    Session s = small::session(c);
    s.part<FastWidths>()->before_batch(s, small::batch(c), 7, progress);
    const at::Tensor found = s.part<FastWidths>()->widths();
    return std::pair{found[0][0].item<int>(), found[-1][2].item<int>()};
  };
  EXPECT_EQ(widths("fixed", 0), std::pair(3, 3));
  EXPECT_EQ(widths("temporal-low-to-high", 0.2), std::pair(3, 3));
  EXPECT_EQ(widths("temporal-low-to-high", 0.7), std::pair(0, 0));
  EXPECT_EQ(widths("temporal-high-to-low", 0.2), std::pair(0, 0));
  EXPECT_EQ(widths("temporal-high-to-low", 0.7), std::pair(3, 3));
  EXPECT_EQ(widths("layerwise-low-to-high", 0.2), std::pair(3, 0));
  EXPECT_EQ(widths("layerwise-high-to-low", 0.7), std::pair(0, 3));
}

io::TensorMap trained_weights(config::RunConfig c) {
  const testing::TempFolder folder;
  train::train(c, small::task(), folder / "run");
  return io::load_tensors(folder / "run" / "weights.safetensors").tensors;
}

TEST(FastWidths, ManyBitsTrainLikeBackprop) {
  config::RunConfig bp = small::config("bp"), many = fast_config("fixed", 24),
                    few = fast_config("fixed", 2);
  many.parts.get<rivals::FastOptions>().rounding = "truncate";
  const auto expected = trained_weights(bp), got = trained_weights(many),
             coarse = trained_weights(few);
  const auto start = io::TensorMap(small::copy_of(*task::build_net(bp, *small::task())));
  for (const auto& [name, value] : expected) {
    if (value.dim() < 2) continue;
    const double moved = (value - start.at(name)).norm().item<double>();
    // 18 steps of a network whose roundings differ: far below what training did, and far below what
    // two bits do.
    EXPECT_LT((got.at(name) - value).norm().item<double>(), 0.01 * moved) << name;
    EXPECT_GT((coarse.at(name) - value).norm().item<double>(), 0.05 * moved) << name;
  }
}

// Each method learns in three bits, and its weights are not those of fp32: the layers did round.
TEST(FastWidths, TrainsWithOtherMethods) {
  for (const std::string method : {"adagp", "stored-loss", "low-res", "dropback", "modules"}) {
    SCOPED_TRACE(method);
    config::RunConfig c = fast_config("fixed", 3);
    c.method = method;
    c.epochs = 30;
    c.optim.lr = 0.1;
    c.parts.get<rivals::DropBackOptions>().keep = 0.5;
    c.parts.get<rivals::DropBackOptions>().init_decay = 1;
    const testing::TempFolder folder;
    train::train(c, small::task(), folder / "run");
    EXPECT_LT(small::train_losses(folder / "run").back(), small::kLossOfConstantAnswers);
    const auto file = io::load_tensors(folder / "run" / "weights.safetensors");
    const auto net = task::build_net(c, *small::task());
    std::string widths = "3";
    for (size_t i = 1; i < 3 * nn::collect(*net).size(); ++i) widths += ",3";
    EXPECT_EQ(file.metadata.at(FastWidths::kMetadataKey), widths);
    c.epochs = 1;
    const auto rounded = trained_weights(c);
    c.precision = "fp32";
    const auto plain = trained_weights(c);
    for (const auto& [name, value] : plain) {
      if (value.dim() < 2) continue;
      EXPECT_FALSE(at::equal(value, rounded.at(name))) << name;
    }
  }
}

TEST(FastWidths, TheNextSessionOfANetworkHasItsOwnPrecision) {
  const config::RunConfig c = fast_config("fixed", 2);
  Session s = small::session(c);
  EXPECT_TRUE(s.layers.front()->rule);
  const Session plain = make_session(small::config("bp"), small::task(), s.net);
  EXPECT_FALSE(plain.layers.front()->rule);
}

TEST(FastWidths, KeepsItsState) {
  const config::RunConfig c = fast_config("adaptive");
  Session a = small::session(c), b = small::session(c);
  a.part<FastWidths>()->before_batch(a, small::batch(c), 0, 0.5);
  b.part<FastWidths>()->load_state(a.part<FastWidths>()->state());
  EXPECT_TRUE(at::equal(a.part<FastWidths>()->widths(), b.part<FastWidths>()->widths()));
  EXPECT_TRUE(at::equal(a.part<FastWidths>()->losses(), b.part<FastWidths>()->losses()));
  EXPECT_THROW(b.part<FastWidths>()->load_state({}), DataError);
}

}  // namespace
}  // namespace adagp::step
