// Do the right weights fall back to their fading first values?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/method/dropback.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

config::RunConfig dropback_config(double keep) {
  config::RunConfig c = small::config("dropback");
  c.optim.momentum = 0;
  c.parts.get<rivals::DropBackOptions>().keep = keep;
  return c;
}

// The weights of the layers one after the other: what is tracked.
at::Tensor all_weights(const step::Session& s) {
  std::vector<at::Tensor> flat;
  for (const auto* layer : s.layers) flat.push_back(layer->weight.detach().flatten());
  return at::cat(flat);
}

// L_t W0 as the method computes it: one factor in fp32.
at::Tensor faded(const at::Tensor& start, double decay, int t) {
  return start * at::full({1}, std::pow(decay, t), at::kFloat);
}

TEST(DropBack, KeepsTheWeightsThatAFullSortFindsFarthest) {
  const config::RunConfig c = dropback_config(0.2);
  step::Session s = small::session(c), plain = small::session(c);
  const auto dropback = find_method("dropback").make(s), bp = find_method("bp").make(plain);
  const at::Tensor start = all_weights(s);
  const auto keep = static_cast<int64_t>(std::llround(0.2 * static_cast<double>(start.numel())));
  for (int t = 1; t <= 8; ++t) {
    const data::Batch batch = small::batch(c, t % 6);
    {
      const at::NoGradGuard no_grad;
      for (const auto& [name, value] : small::copy_of(*s.net)) {
        for (auto& item : plain.net->named_parameters()) {
          if (item.key() == name) item.value().copy_(value);
        }
      }
    }
    bp->full_step(plain, batch);  // what the optimizer alone makes of the same weights
    dropback->full_step(s, batch);
    const at::Tensor moved = all_weights(plain), base = faded(start, 0.9, t);
    const at::Tensor distance = (moved - base).abs();
    const at::Tensor order = distance.argsort(0, /*descending=*/true);
    const at::Tensor stays = at::zeros_like(distance, at::kBool);
    stays.index_fill_(0, order.narrow(0, 0, keep), true);
    const at::Tensor got = all_weights(s);
    EXPECT_TRUE(at::equal(got, at::where(stays, moved, base))) << t;
    EXPECT_LE(got.ne(base).sum().item<int64_t>(), keep);
    EXPECT_GT(got.ne(base).sum().item<int64_t>(), keep * 9 / 10);
  }
}

TEST(DropBack, WithNothingToKeepOnlyFirstValuesAreLeft) {
  const config::RunConfig c = dropback_config(0);
  step::Session s = small::session(c);
  const auto method = find_method("dropback").make(s);
  const at::Tensor start = all_weights(s);
  for (int t = 1; t <= 5; ++t) {
    method->full_step(s, small::batch(c, t));
    EXPECT_TRUE(at::equal(all_weights(s), faded(start, 0.9, t))) << t;
  }
}

TEST(DropBack, AFrozenChoiceStays) {
  config::RunConfig c = dropback_config(0.1);
  c.parts.get<rivals::DropBackOptions>().freeze = "3ba";
  c.parts.get<rivals::DropBackOptions>().init_decay = 1;
  for (const std::string threshold : {"exact", "estimate"}) {
    c.parts.get<rivals::DropBackOptions>().threshold = threshold;
    step::Session s = small::session(c);
    const auto method = find_method("dropback").make(s);
    const at::Tensor start = all_weights(s);
    at::Tensor chosen, level;
    for (int t = 1; t <= 8; ++t) {
      const at::Tensor before = all_weights(s);
      method->full_step(s, small::batch(c, t % 6));
      const at::Tensor now = all_weights(s).ne(start);
      if (t <= 3) {
        chosen = now;
        level = method->state().at("threshold").clone();
      }
      EXPECT_TRUE(at::equal(now.logical_and(chosen), now)) << threshold << " " << t;
      EXPECT_FALSE(at::equal(before, all_weights(s)));  // those that were chosen go on
    }
    // It would go on until it is infinite: nothing below it is left to count.
    const at::Tensor last = method->state().at("threshold");
    EXPECT_TRUE(threshold == "exact" || at::equal(last, level));
    for (const auto& [name, tensor] : method->state()) {
      if (!tensor.is_floating_point()) continue;
      EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
    }
  }
}

// Draws of one distribution, many steps: the share above the threshold must be the one asked for.
TEST(DropBack, TheEstimatedThresholdFindsItsQuantile) {
  at::manual_seed(5);
  constexpr int64_t kCount = 40000;
  const auto normal = [] { return at::randn({kCount}).abs() * 1e-4; };
  const auto long_tail = [] { return (at::randn({kCount}) * 3).exp(); };
  const auto uniform = [] { return at::rand({kCount}) * 50; };
  for (const double share : {0.01, 0.1, 0.5, 0.9}) {
    const auto keep = static_cast<int64_t>(share * kCount);
    for (const std::function<at::Tensor()>& draw :
         {std::function<at::Tensor()>(normal), std::function<at::Tensor()>(long_tail),
          std::function<at::Tensor()>(uniform)}) {
      at::Tensor threshold = at::full({1}, 1e-3, at::kFloat);
      QuantileEstimate estimate{at::full({1}, 0.5), at::zeros({1})};
      double kept_late = 0;
      constexpr int kSteps = 400, kLate = 100;
      for (int step = 0; step < kSteps; ++step) {
        const at::Tensor kept = draw().gt(threshold).sum().view({1});
        estimate.follow(threshold, kept, keep, kCount, at::ones({1}));
        if (step >= kSteps - kLate) kept_late += kept.item<double>() / kLate;
      }
      EXPECT_NEAR(kept_late / static_cast<double>(keep), 1, 0.02) << share;
    }
  }
}

TEST(DropBack, BiasesAndNormsAreTrainedAsEver) {
  const config::RunConfig c = dropback_config(0);
  step::Session s = small::session(c);
  const auto before = small::copy_of(*s.net);
  find_method("dropback").make(s)->full_step(s, small::batch(c));
  EXPECT_FALSE(at::equal(before.at("fc.bias"), small::copy_of(*s.net).at("fc.bias")));
  EXPECT_FALSE(at::equal(before.at("bn1.weight"), small::copy_of(*s.net).at("bn1.weight")));
}

TEST(DropBack, RefusesTheStateOfAnotherNetwork) {
  const config::RunConfig c = dropback_config(0.5);
  step::Session s = small::session(c);
  const auto method = find_method("dropback").make(s);
  auto state = method->state();
  state.at("start.fc.weight") = at::zeros({3, 3}, at::kInt);
  EXPECT_THROW(method->load_state(state), DataError);
  state.erase("start.fc.weight");
  EXPECT_THROW(method->load_state(state), DataError);
}

}  // namespace
}  // namespace adagp::method
