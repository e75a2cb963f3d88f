#include "adagp/engine/optim/optimizer.h"

#include <string>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/optim/params.h"

namespace adagp::optim {
namespace {

std::vector<Config> config_grid() {
  return {{.momentum = 0.9, .decay = 5e-4},
          {.momentum = 0.9, .nesterov = true, .decay = 5e-4, .decay_norm_bias = false},
          {.momentum = 0.0, .decay = 5e-4},
          {.name = "adam", .decay = 1e-2},
          {.name = "adamw", .decay = 1e-2, .decay_norm_bias = false}};
}

void expect_step_one_like_step(at::Device device) {
  for (const auto& config : config_grid()) {
    const auto whole = random_params(device);
    const auto single = cloned(whole);
    auto reference = make_optimizer(whole, config);
    auto optimizer = make_optimizer(single, config);
    for (int step = 0; step < 10; ++step) {
      set_random_gradients(whole);
      reference->step(0.01);
      // Both kinds of step in turn: they share one state.
      if (step % 3 == 1) {
        copy_gradients(whole, single);
        optimizer->step(0.01);
        continue;
      }
      for (size_t i = 0; i < single.size(); ++i) {
        optimizer->step_one(i, whole[i].value.grad().clone(), 0.01);
      }
    }
    expect_close(whole, single, 1e-6);  // fp32, rounded differently ten times
  }
}

TEST(Optimizer, StepOneAgreesWithStep) {
  expect_step_one_like_step(at::kCPU);
}

TEST(Optimizer, StepOneUpdatesTheRightElementsOfAChannelsLastWeight) {
  // No two elements alike, and the plain formula on contiguous copies.
  const at::Tensor start = at::arange(2. * 3 * 2 * 2).reshape({2, 3, 2, 2});
  const at::Tensor gradient = at::arange(100., 124.).reshape({2, 3, 2, 2});
  const at::Tensor weight = start.clone().contiguous(at::MemoryFormat::ChannelsLast);
  ASSERT_FALSE(weight.is_contiguous());
  auto optimizer = make_optimizer({{"w", weight}}, {.momentum = 0.5, .decay = 0.25});
  at::Tensor expected = start.clone(), velocity = at::zeros_like(start);
  for (int step = 0; step < 3; ++step) {
    optimizer->step_one(0, gradient.contiguous(at::MemoryFormat::ChannelsLast), 0.125);
    velocity = velocity * 0.5 + (gradient + expected * 0.25);
    expected = expected - velocity * 0.125;
  }
  // Powers of two: hardly any rounding.
  EXPECT_LE((weight - expected).abs().max().item<double>(), 1e-4);
  EXPECT_GT((weight - start).abs().min().item<double>(), 1.0);
}

TEST(Optimizer, StepOneRefusesAGradientOfAnotherLayoutOrShape) {
  const at::Tensor weight = channels_last({4, 3, 2, 2});
  const at::Tensor before = weight.clone();
  auto optimizer = make_optimizer({{"net.w", weight}}, {});
  const at::Tensor wrong[] = {at::randn({4, 3, 2, 2}), at::randn({3, 4, 2, 2}),
                              at::randn({1}).expand({4, 3, 2, 2}),
                              at::randn({4, 3, 2, 2}, at::kDouble)};
  for (const auto& gradient : wrong) {
    try {
      optimizer->step_one(0, gradient, 0.1);
      ADD_FAILURE() << "a gradient of strides " << gradient.strides() << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'net.w'"), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(weight.equal(before));
}

TEST(Optimizer, StridesOfSizeOneDimensionsDoNotMatter) {
  const at::Tensor weight = channels_last({4, 3, 1, 1});
  const at::Tensor gradient = at::randn({4, 3, 1, 1});
  ASSERT_NE(weight.strides(), gradient.strides());
  const at::Tensor expected = weight - 0.5 * gradient;
  make_optimizer({{"w", weight}}, {.momentum = 0, .decay = 0})->step_one(0, gradient.clone(), 0.5);
  EXPECT_LE((weight - expected).abs().max().item<double>(), 1e-6);  // one rounding of values < 5
}

TEST(Optimizer, ParametersWithoutGradientRest) {
  for (const auto& config : config_grid()) {
    const auto params = random_params();
    auto optimizer = make_optimizer(params, config);
    set_random_gradients(params);
    optimizer->step(0.1);  // state is no longer zero
    const auto saved = cloned(params);
    at::Tensor frozen = params[0].value;
    frozen.mutable_grad() = at::Tensor();
    optimizer->step(0.1);
    EXPECT_TRUE(params[0].value.equal(saved[0].value));
    EXPECT_FALSE(params[1].value.equal(saved[1].value));
  }
}

TEST(Optimizer, DecayCanSpareNormAndBias) {
  // A zero gradient and no momentum: what moves, moves by decay.
  for (const bool single : {false, true}) {
    const auto params = random_params();
    const auto before = cloned(params);
    auto optimizer =
        make_optimizer(params, {.momentum = 0, .decay = 0.1, .decay_norm_bias = false});
    for (size_t i = 0; i < params.size(); ++i) {
      at::Tensor value = params[i].value;
      value.mutable_grad() = at::zeros_like(value);
      if (single) optimizer->step_one(i, value.grad(), 0.5);
    }
    if (!single) optimizer->step(0.5);
    for (size_t i = 0; i < params.size(); ++i) {
      const double factor = params[i].value.dim() <= 1 ? 1.0 : 1.0 - 0.5 * 0.1;
      EXPECT_TRUE(at::allclose(params[i].value, before[i].value * factor, 1e-6, 0))
          << params[i].name;
    }
  }
}

TEST(Optimizer, SavedStateResumesBitForBit) {
  for (const auto& config : config_grid()) {
    const auto params = random_params();
    auto optimizer = make_optimizer(params, config);
    for (int i = 0; i < 3; ++i) {
      set_random_gradients(params);
      optimizer->step(0.01);
    }
    std::map<std::string, at::Tensor> saved;
    for (const auto& [name, tensor] : optimizer->state()) saved[name] = tensor.clone();
    const auto again = cloned(params);
    auto resumed = make_optimizer(again, config);
    resumed->load_state(saved);
    for (int i = 0; i < 3; ++i) {
      set_random_gradients(params);
      copy_gradients(params, again);
      optimizer->step(0.01);
      resumed->step(0.01);
      optimizer->step_one(0, params[0].value.grad().clone(), 0.01);
      resumed->step_one(0, again[0].value.grad().clone(), 0.01);
    }
    expect_equal_bits(params, again);
  }
}

TEST(Optimizer, StateOfAnotherModelIsRefusedAndChangesNothing) {
  auto optimizer = make_optimizer(random_params(), {});
  std::map<std::string, at::Tensor> good;
  for (const auto& [name, tensor] : optimizer->state()) good[name] = at::ones_like(tensor);
  ASSERT_EQ(good.count("momentum.conv.weight"), 1u);

  auto missing = good, extra = good, shape = good, dtype = good;
  missing.erase("momentum.plain.weight");
  extra["momentum.other"] = at::zeros({1});
  shape["momentum.bias"] = at::zeros({14});
  dtype["momentum.bias"] = at::zeros({13}, at::kDouble);
  const std::pair<std::map<std::string, at::Tensor>, const char*> cases[] = {
      {missing, "'momentum.plain.weight'"},
      {extra, "'momentum.other'"},
      {shape, "'momentum.bias'"},
      {dtype, "'momentum.bias'"}};
  for (const auto& [saved, named] : cases) {
    try {
      optimizer->load_state(saved);
      ADD_FAILURE() << named << " was taken";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  }
  for (const auto& [name, tensor] : optimizer->state())
    EXPECT_EQ(tensor.count_nonzero().item<int64_t>(), 0);
}

TEST(Optimizer, FindsAParameterByIdentity) {
  const auto params = random_params();
  const auto optimizer = make_optimizer(params, {});
  EXPECT_EQ(optimizer->index_of(params[3].value), 3u);
  EXPECT_THROW(optimizer->index_of(params[3].value.clone()), Error);
}

TEST(Optimizer, WrongOptionsAreUsageErrors) {
  EXPECT_THROW(make_optimizer({}, {.name = "sdg"}), UsageError);
  EXPECT_THROW(make_optimizer({}, {.momentum = 1.0}), UsageError);
  EXPECT_THROW(make_optimizer({}, {.momentum = 0, .nesterov = true}), UsageError);
  EXPECT_THROW(make_optimizer({}, {.decay = -1}), UsageError);
  EXPECT_THROW(make_optimizer({{"a", at::zeros(1)}, {"a", at::zeros(1)}}, {}), Error);
}

TEST(Clip, ScalesTheJointNormDownToTheLimit) {
  // Norms 3 and 4 have the joint norm 5; a third parameter has no gradient.
  std::vector<Param> params{{"a", at::zeros(1)}, {"b", at::zeros(2)}, {"c", at::zeros(3)}};
  params[0].value.mutable_grad() = at::tensor({3.0f});
  params[1].value.mutable_grad() = at::tensor({0.0f, -4.0f});
  const std::vector<at::Tensor> gradients{params[0].value.grad(), params[1].value.grad()};
  EXPECT_FLOAT_EQ(clip_gradients(gradients, 10.0).item<float>(), 5.0f);
  EXPECT_EQ(params[0].value.grad().item<float>(), 3.0f);  // below the limit: untouched

  const double coefficient = 1.0 / (5.0 + 1e-6);
  make_optimizer(params, {})->clip(1.0);
  EXPECT_FLOAT_EQ(params[0].value.grad().item<float>(), static_cast<float>(3 * coefficient));
  EXPECT_FLOAT_EQ(params[1].value.grad()[1].item<float>(), static_cast<float>(-4 * coefficient));
  EXPECT_FALSE(params[2].value.grad().defined());
  EXPECT_EQ(clip_gradients({}, 1.0).item<float>(), 0.0f);
  EXPECT_THROW(clip_gradients(gradients, 0.0), UsageError);
}

TEST(Low, CopiesCarryTheGradientAndAreRefreshed) {
  for (const auto& config : config_grid()) {
    const auto plain = random_params();
    auto with_low = cloned(plain);
    for (auto& param : with_low) {
      param.bf16_copy = param.value.detach().to(at::kBFloat16).requires_grad_();
    }
    auto reference = make_optimizer(plain, config);
    auto optimizer = make_optimizer(with_low, config);
    for (int step = 0; step < 3; ++step) {
      set_random_gradients(plain);
      for (size_t i = 0; i < plain.size(); ++i) {
        // What bf16 can hold of the gradient, so that both see the same numbers.
        at::Tensor low = plain[i].value.grad().to(at::kBFloat16);
        plain[i].value.mutable_grad() = low.to(at::kFloat);
        with_low[i].bf16_copy.mutable_grad() = low;
      }
      reference->step(0.01);
      optimizer->step(0.01);
      optimizer->clear_gradients();
    }
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(at::equal(plain[i].value, with_low[i].value)) << plain[i].name;
      EXPECT_TRUE(at::equal(with_low[i].bf16_copy, with_low[i].value.to(at::kBFloat16)));
      EXPECT_FALSE(with_low[i].bf16_copy.grad().defined());
    }
  }
}

#ifdef ADAGP_WITH_CUDA
TEST(OptimizerCuda, FusedStepsAgreeWithThePlainFormula) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU here";
  expect_step_one_like_step(at::kCUDA);
  for (const auto& config : config_grid()) {
    const auto host = random_params();
    auto device = cloned(host);
    for (auto& param : device) param.value = param.value.detach().to(at::kCUDA).requires_grad_();
    auto reference = make_optimizer(host, config);
    auto optimizer = make_optimizer(device, config);
    for (int step = 0; step < 5; ++step) {
      set_random_gradients(host);
      for (size_t i = 0; i < host.size(); ++i) {
        // Contiguous, whatever the parameter's format: step() must cope.
        device[i].value.mutable_grad() = host[i].value.grad().contiguous().to(at::kCUDA);
      }
      reference->step(0.01);
      optimizer->step(0.01);
    }
    for (auto& param : device) param.value = param.value.detach().cpu();
    expect_close(host, device, 1e-6);  // fp32, rounded differently five times
  }
}
#endif

}  // namespace
}  // namespace adagp::optim
