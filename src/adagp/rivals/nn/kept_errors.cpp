#include "adagp/rivals/nn/kept_errors.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/base/core/rng.h"
#include "adagp/engine/nn/products.h"

namespace adagp::nn {
namespace {

// splitmix64 of each element; sums and products wrap around. `>>` of int64 copies the sign.
at::Tensor mixed(at::Tensor z) {
  const auto shifted = [](const at::Tensor& x, int64_t bits) {
    return x.bitwise_right_shift(bits).bitwise_and_((int64_t{1} << (64 - bits)) - 1);
  };
  z.bitwise_xor_(shifted(z, 30)).mul_(static_cast<int64_t>(0xbf58476d1ce4e5b9ULL));
  z.bitwise_xor_(shifted(z, 27)).mul_(static_cast<int64_t>(0x94d049bb133111ebULL));
  return z.bitwise_xor_(shifted(z, 31));
}

struct StoredBits {
  at::ScalarType as;
  int64_t mantissa;
};

StoredBits stored_bits(at::ScalarType type) {
  if (type == at::kDouble) return {at::kLong, 52};
  if (type == at::kBFloat16) return {at::kShort, 7};
  if (type == at::kHalf) return {at::kShort, 10};
  return {at::kInt, 23};
}

// What the backward pass needs beside tensors.
struct ProductInfo : torch::CustomClassHolder {
  ProductInfo(const LayerInfo& as, bool with_bias) : info(as), bias(with_bias) {}
  LayerInfo info;
  bool bias;
};

struct ProductWithErrors : torch::autograd::Function<ProductWithErrors> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            KeptValues* values, const LayerInfo& info) {
    ctx->save_for_backward({values->keep(x), weight});
    ctx->saved_data["info"] =
        c10::IValue::make_capsule(c10::make_intrusive<ProductInfo>(info, bias.has_value()));
    return product(info, x, weight, bias.value_or(at::Tensor()));
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["info"].toCapsule();
    const auto& made = static_cast<const ProductInfo&>(*capsule);
    // The gradient of the input is made from the weights and from nothing that was kept.
    const bool of_bias = made.bias && ctx->needs_input_grad(2);  // an absent one is no input
    const Gradients out =
        gradients_of(made.info, gradients[0], saved[0], saved[1],
                     {ctx->needs_input_grad(0), ctx->needs_input_grad(1), of_bias});
    return {out[0], out[1], out[2], at::Tensor(), at::Tensor()};
  }
};

class RuleOfKeptValues : public ProductRule {
 public:
  bool applies() const override { return kept_values() != nullptr; }
  at::Tensor product(const WeightLayer& layer, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& bias) const override {
    LayerInfo as = layer.info();
    as.out = weight.size(0);
    const std::optional<at::Tensor> given = bias.defined() ? std::optional(bias) : std::nullopt;
    return ProductWithErrors::apply(layer.in_precision(x), weight, given, kept_values(), as);
  }
};

}  // namespace

KeptErrors::KeptErrors(double share, int64_t seed, at::Device device)
    : share_(share), seed_(seed), of_step_(at::zeros({1}, at::device(device).dtype(at::kLong))) {
  begin_step(0);
}

void KeptErrors::begin_step(int64_t step) {
  const uint64_t seed =
      core::mix({static_cast<uint64_t>(seed_), static_cast<uint64_t>(step), 0x656472616dULL});
  of_step_.fill_(static_cast<int64_t>(seed));
  calls_ = 0;
}

at::Tensor KeptErrors::keep(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const at::Tensor out = x.detach().clone();
  const int64_t count = out.numel();
  const StoredBits stored = stored_bits(out.scalar_type());
  // In the order of memory: out is dense.
  const at::Tensor bits = out.as_strided({count}, {1}).view(stored.as);
  constexpr int64_t kFar = int64_t{1} << 40;  // elements of a tensor are far fewer
  const at::Tensor places = at::arange(calls_ * kFar, calls_ * kFar + count, of_step_.options());
  ++calls_;
  const at::Tensor z =
      mixed(places.mul_(static_cast<int64_t>(0x9e3779b97f4a7c15ULL)).add_(of_step_));
  // The upper 53 bits say whether, the lower 11 which bit.
  constexpr int64_t kLow = 11;
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  const at::Tensor chosen = z.bitwise_right_shift(kLow)
                                .bitwise_and_((int64_t{1} << 53) - 1)
                                .to(at::kDouble)
                                .mul_(kUnit)
                                .lt(share_);
  const at::Tensor which =
      z.bitwise_and((int64_t{1} << kLow) - 1).mul_(stored.mantissa).bitwise_right_shift_(kLow);
  const at::Tensor flips = chosen.to(at::kLong).bitwise_left_shift_(which);
  bits.bitwise_xor_(flips.to(stored.as));
  return out;
}

std::shared_ptr<const ProductRule> rule_of_kept_values() {
  return std::make_shared<RuleOfKeptValues>();
}

}  // namespace adagp::nn
