#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::cuda {
namespace {

using Kind = UpdateRule::Kind;

// One parameter for the reference, and the same in double for torch's fused step.
struct Param {
  at::Tensor weight, first, second, steps, low, gradient;
  at::Tensor exact_weight, exact_first, exact_second, exact_steps, exact_gradient;
  double decay = 0;

  Param(int64_t count, at::ScalarType gradient_type, double decay_) : decay(decay_) {
    weight = at::randn(count);
    first = at::zeros(count);
    second = at::zeros(count);
    steps = at::zeros({});
    low = at::zeros(count, at::kBFloat16);
    gradient = at::zeros(count, gradient_type);
    exact_weight = weight.to(at::kDouble);
    exact_first = first.to(at::kDouble);
    exact_second = second.to(at::kDouble);
    exact_steps = at::zeros({});
  }
  void draw_gradient() {
    gradient.normal_();
    exact_gradient = gradient.to(at::kDouble);
  }
  ParamSlot slot() const {
    ParamSlot out;
    out.weight = weight.mutable_data_ptr<float>();
    out.first = first.mutable_data_ptr<float>();
    out.second = second.mutable_data_ptr<float>();
    out.steps = steps.mutable_data_ptr<float>();
    out.low = low.mutable_data_ptr();
    out.gradient = gradient.const_data_ptr();
    out.gradient_type = gradient.scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
    out.count = weight.numel();
    out.decay = static_cast<float>(decay);
    return out;
  }
};

void torch_step(Param& p, const UpdateRule& rule, bool momentum, double scale) {
  const at::Tensor gradient = p.exact_gradient * scale;
  const double decay = static_cast<float>(p.decay), lr = *rule.lr;
  if (rule.kind == Kind::kSgd) {
    at::_fused_sgd_(p.exact_weight, gradient,
                    momentum ? at::TensorList(p.exact_first) : at::TensorList(), decay,
                    momentum ? rule.momentum : 0.0, lr, /*dampening=*/0.0, rule.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
    return;
  }
  p.exact_steps.add_(1);
  const auto step = [&](const auto& kernel) {
    kernel(p.exact_weight, gradient, p.exact_first, p.exact_second, at::TensorList(), p.exact_steps,
           lr, rule.beta1, rule.beta2, decay, rule.eps, /*amsgrad=*/false,
           /*maximize=*/false, std::nullopt, std::nullopt);
  };
  using Kernel = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                      at::TensorList, at::TensorList, double, double, double, double, double, bool,
                      bool, const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);
  step(rule.kind == Kind::kAdamW ? static_cast<Kernel*>(at::_fused_adamw_)
                                 : static_cast<Kernel*>(at::_fused_adam_));
}

void expect_updated(const at::Tensor& got, const at::Tensor& exact, const char* what) {
  // Both compute in double, the reference's state is rounded to fp32 after each of ten steps.
  EXPECT_LE((got.to(at::kDouble) - exact).abs().max().item<double>(),
            1e-6 * exact.abs().max().item<double>() + 1e-30)
      << what;
}

void expect_like_torch(UpdateRule rule, bool momentum, bool clipped) {
  at::manual_seed(4);
  const float lr = 0.05F, scale = 0.25F;
  rule.lr = &lr;
  if (clipped) rule.scale = &scale;
  std::vector<Param> params;
  params.emplace_back(1, at::kFloat, 5e-4);
  params.emplace_back(1003, at::kBFloat16, 0.0);
  params.emplace_back(37, at::kFloat, 0.1);
  for (int step = 0; step < 10; ++step) {
    std::vector<ParamSlot> slots;
    for (auto& p : params) {
      p.draw_gradient();
      slots.push_back(p.slot());
      if (!momentum) slots.back().first = nullptr;
      torch_step(p, rule, momentum, clipped ? scale : 1.0);
    }
    slots[2].low = nullptr;
    reference::update(slots.data(), 3, rule);
  }
  const bool adam = rule.kind != Kind::kSgd;
  for (const auto& p : params) {
    expect_updated(p.weight, p.exact_weight, "weight");
    if (momentum) expect_updated(p.first, p.exact_first, "first");
    if (adam) expect_updated(p.second, p.exact_second, "second");
    EXPECT_EQ(p.steps.item<float>(), adam ? 10 : 0);
  }
  EXPECT_TRUE(params[1].low.equal(params[1].weight.to(at::kBFloat16)));
  EXPECT_EQ(params[2].low.abs().max().item<float>(), 0);
}

TEST(OptimReference, SgdIsTorchs) {
  for (const bool clipped : {false, true}) {
    expect_like_torch({.momentum = 0.9F}, true, clipped);
    expect_like_torch({.momentum = 0.9F, .nesterov = true}, true, clipped);
    expect_like_torch({.momentum = 0.9F}, false, clipped);
  }
}

TEST(OptimReference, AdamIsTorchs) {
  for (const bool clipped : {false, true}) {
    expect_like_torch({.kind = Kind::kAdam}, true, clipped);
    expect_like_torch({.kind = Kind::kAdam, .beta1 = 0.5F, .beta2 = 0.9F, .eps = 0.1F}, true,
                      clipped);
    expect_like_torch({.kind = Kind::kAdamW}, true, clipped);
  }
}

TEST(OptimReference, RefreshLowRoundsAsTorch) {
  // Random bits, and what rounds to even both ways, overflows or is no number.
  std::vector<int32_t> bits = {0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001,
                               0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FFFFFFF,
                               0x00000001, 0x00008000, 0x00018000, 0};
  const at::Tensor random = at::randint(std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int32_t>::max(), {10000}, at::kInt);
  const at::Tensor weight =
      at::cat({at::tensor(bits, at::kInt), random}).view(at::kFloat).contiguous();
  at::Tensor low = at::zeros(weight.numel(), at::kBFloat16);
  ParamSlot slots[2];
  slots[0].weight = weight.mutable_data_ptr<float>();
  slots[0].low = low.mutable_data_ptr();
  slots[0].count = weight.numel();
  slots[1].weight = slots[0].weight;  // without a copy
  slots[1].count = slots[0].count;
  reference::refresh_bf16_copies(slots, 2);
  const at::Tensor expected = weight.to(at::kBFloat16);
  EXPECT_TRUE(low.isnan().equal(expected.isnan()));
  EXPECT_TRUE(low.nan_to_num(0).view(at::kShort).equal(expected.nan_to_num(0).view(at::kShort)));
  // bf16 to float and back is the same.
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = bf16_to_float(static_cast<uint16_t>(half));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_bf16(value), half);
  }
}

struct Clip {
  float norm = -1, scale = -1;
};

Clip clip_by_reference(const std::vector<at::Tensor>& gradients, float max_norm) {
  std::vector<ParamSlot> slots(gradients.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].gradient = gradients[i].const_data_ptr();
    slots[i].gradient_type =
        gradients[i].scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
    slots[i].count = gradients[i].numel();
  }
  Clip out;
  ClipArgs args;
  args.max_norm = max_norm;
  args.norm = &out.norm;
  args.scale = &out.scale;
  reference::clip_scale(slots.data(), static_cast<int64_t>(slots.size()), args);
  return out;
}

TEST(OptimReference, ClipIsThatOfTheOptimizer) {
  at::manual_seed(5);
  const std::vector<at::Tensor> gradients = {at::randn(1000), at::randn(33).to(at::kBFloat16),
                                             at::randn(1)};
  for (const float max_norm : {0.5F, 40.0F, 1000.0F}) {
    const Clip got = clip_by_reference(gradients, max_norm);
    std::vector<at::Tensor> exact;
    for (const auto& g : gradients) exact.push_back(g.to(at::kDouble));
    // As clip_gradients of optim/optimizer.cpp.
    const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(exact, 2)), 2);
    const at::Tensor scale = (max_norm / (norm + 1e-6)).clamp_max(1.0);
    EXPECT_NEAR(got.norm, norm.item<double>(), 1e-7 * norm.item<double>());  // one rounding
    EXPECT_NEAR(got.scale, scale.item<double>(), 1e-7 * scale.item<double>());
  }
}

TEST(OptimReference, ClipOfNothingZeroAndNan) {
  EXPECT_EQ(clip_by_reference({}, 1).norm, 0);
  EXPECT_EQ(clip_by_reference({at::zeros(5)}, 1).scale, 1);
  const Clip nan = clip_by_reference({at::full(5, std::numeric_limits<float>::quiet_NaN())}, 1);
  EXPECT_TRUE(std::isnan(nan.norm));
  EXPECT_TRUE(std::isnan(nan.scale));
  const Clip inf = clip_by_reference({at::full(5, std::numeric_limits<float>::infinity())}, 1);
  EXPECT_EQ(inf.scale, 0);
}

}  // namespace
}  // namespace adagp::cuda
