#include "adagp/rivals/nn/fast.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/products.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

// What the backward pass needs beside tensors. The layer lives as long as its network.
struct FastContext : torch::CustomClassHolder {
  FastContext(const FastLayer* of, const LayerInfo& as, uint64_t number)
      : layer(of), info(as), tag(number) {}
  const FastLayer* layer;
  LayerInfo info;
  uint64_t tag;
};

class Rounder {
 public:
  Rounder(const FastLayer& layer, uint64_t tag, at::ScalarType type)
      : layer_(layer), tag_(4 * tag), type_(type) {}

  // `site` tells apart what is rounded stochastically twice.
  at::Tensor operator()(Operand operand, const at::Tensor& x, const GroupAxis& axis,
                        uint64_t site = 0) const {
    const FastShared& shared = *layer_.shared;
    const bool gradient = operand == Operand::kGradient;
    return block_float(x, axis, layer_.widths[static_cast<int64_t>(operand)],
                       gradient ? shared.of_gradients : shared.of_others, shared,
                       tag_ + (gradient ? 2 : 0) + site, type_);
  }

 private:
  const FastLayer& layer_;
  uint64_t tag_;
  at::ScalarType type_;
};

// fp64 networks (of tests) are rounded like fp32 ones and computed in fp64.
at::ScalarType type_of_products(const FastShared& shared, const at::Tensor& weight) {
  return shared.bf16 ? at::kBFloat16 : weight.scalar_type();
}

// ATen wants all operands of one type, also the one whose shape alone counts: its values are not
// read, so a tensor of another type is not converted.
at::Tensor shape_only(const at::Tensor& x, at::ScalarType type) {
  return x.scalar_type() == type ? x : at::empty_like(x, x.options().dtype(type));
}

struct FastProduct : torch::autograd::Function<FastProduct> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const FastLayer* layer, const LayerInfo& info, uint64_t tag) {
    const FastShared& shared = *layer->shared;
    const Rounder round(*layer, tag, type_of_products(shared, weight));
    const at::Tensor ordered = in_group_order(x, info), filters = in_group_order(weight, info);
    const at::Tensor xq = round(Operand::kActivation, ordered, along_channels(ordered, info));
    const at::Tensor wq = round(Operand::kWeight, filters, along_inputs(filters));
    if (ctx != nullptr) {
      ctx->save_for_backward(shared.regroup ? torch::autograd::variable_list{ordered, filters}
                                            : torch::autograd::variable_list{xq, wq});
      ctx->saved_data["fast"] =
          c10::IValue::make_capsule(c10::make_intrusive<FastContext>(layer, info, tag));
      ctx->saved_data["types"] = std::vector<int64_t>{
          static_cast<int64_t>(x.scalar_type()), static_cast<int64_t>(weight.scalar_type()),
          bias ? static_cast<int64_t>(bias->scalar_type()) : -1};
    }
    const at::Tensor added = bias ? bias->to(xq.scalar_type()) : at::Tensor();
    return product(info, xq, wq, added);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["fast"].toCapsule();
    const auto& context = static_cast<const FastContext&>(*capsule);
    const std::vector<int64_t> types = ctx->saved_data["types"].toIntVector();
    const auto type = [&](size_t i) { return static_cast<at::ScalarType>(types[i]); };
    const LayerInfo& info = context.info;
    const FastShared& shared = *context.layer->shared;
    const at::Tensor &x = saved[0], &weight = saved[1];
    const Rounder round(*context.layer, context.tag, type_of_products(shared, weight));
    const at::Tensor dy = in_group_order(gradients[0], info);
    const auto rounded_dy = [&](const GroupAxis& axis, uint64_t site) {
      return round(Operand::kGradient, dy, axis, site);
    };
    at::Tensor once;  // without regrouping
    if (!shared.regroup) once = rounded_dy(along_channels(dy, info), 0);

    at::Tensor of_x, of_weight, of_bias;
    if (ctx->needs_input_grad(0)) {
      const at::Tensor g = shared.regroup ? rounded_dy(along_channels(dy, info), 0) : once;
      const at::Tensor w =
          shared.regroup ? round(Operand::kWeight, weight, along_filters(weight, info)) : weight;
      const at::Tensor shape = shape_only(x, w.scalar_type());
      of_x = gradients_of(info, g, shape, w, {true, false, false})[0].to(type(0));
    }
    if (ctx->needs_input_grad(1)) {
      const at::Tensor g = shared.regroup ? rounded_dy(along_positions(dy, info), 1) : once;
      const at::Tensor input =
          shared.regroup ? round(Operand::kActivation, x, along_positions(x, info)) : x;
      const at::Tensor shape = shape_only(weight, input.scalar_type());
      of_weight = gradients_of(info, g, input, shape, {false, true, false})[1].to(type(1));
    }
    if (types[2] >= 0 && ctx->needs_input_grad(2)) {
      std::vector<int64_t> axes;
      const int64_t channels = info.kind == LayerKind::kConv2d ? 1 : dy.dim() - 1;
      for (int64_t axis = 0; axis < dy.dim(); ++axis) {
        if (axis != channels) axes.push_back(axis);
      }
      of_bias = dy.sum(axes, false, type(2));
    }
    return {of_x, of_weight, of_bias, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor block_float(const at::Tensor& x, const GroupAxis& axis, const at::Tensor& width,
                       cuda::Rounding rounding, const FastShared& shared, uint64_t tag,
                       at::ScalarType type) {
  const at::NoGradGuard no_grad;
  if (x.scalar_type() == at::kDouble) {
    return block_float(x.to(at::kFloat), axis, width, rounding, shared, tag, at::kFloat).to(type);
  }
  at::Tensor out = at::empty_like(x, x.options().dtype(type));
  cuda::BlockFloatArgs args;
  args.in = x.const_data_ptr();
  args.out = out.mutable_data_ptr();
  args.in_type = device::type_of(x);
  args.out_type = device::type_of(out);
  args.outer = axis.outer;
  args.length = axis.length;
  args.inner = axis.inner;
  args.bits = width.const_data_ptr<int32_t>();
  args.rounding = rounding;
  args.seed = shared.seed.defined() ? shared.seed.const_data_ptr<int64_t>() : nullptr;
  args.tag = tag;
  at::Tensor largest;
  if (shared.exponent_bits < 8 && x.numel() > 0) {
    largest = x.abs().amax().to(at::kFloat);
    args.largest = largest.const_data_ptr<float>();
    args.window = (1 << shared.exponent_bits) - 1;
  }
  device::run(x.device(), args, cuda::block_float, cuda::reference::block_float);
  return out;
}

at::Tensor in_group_order(const at::Tensor& x, const LayerInfo& info) {
  return info.kind == LayerKind::kConv2d ? x.contiguous(at::MemoryFormat::ChannelsLast)
                                         : x.contiguous();
}

GroupAxis along_channels(const at::Tensor& x, const LayerInfo& info) {
  const int64_t channels = info.kind == LayerKind::kConv2d ? x.size(1) : x.size(-1);
  const int64_t length = channels / info.groups;
  return {length == 0 ? 0 : x.numel() / length, length, 1};
}

GroupAxis along_inputs(const at::Tensor& weight) {
  return {weight.numel() / weight.size(1), weight.size(1), 1};
}

GroupAxis along_filters(const at::Tensor& weight, const LayerInfo& info) {
  const int64_t filters = weight.size(0) / info.groups;
  return {info.groups, filters, weight.numel() / weight.size(0)};
}

GroupAxis along_positions(const at::Tensor& x, const LayerInfo& info) {
  const int64_t channels = info.kind == LayerKind::kConv2d ? x.size(1) : x.size(-1);
  return {1, x.numel() / channels, channels};
}

at::Tensor fast_product(const FastLayer& layer, const LayerInfo& info, const at::Tensor& x,
                        const at::Tensor& weight, const at::Tensor& bias) {
  LayerInfo as = info;
  as.out = weight.size(0);
  const std::optional<at::Tensor> given = bias.defined() ? std::optional(bias) : std::nullopt;
  const uint64_t tag = layer.shared->products++;
  if (at::GradMode::is_enabled()) return FastProduct::apply(x, weight, given, &layer, as, tag);
  return FastProduct::forward(nullptr, x, weight, given, &layer, as, tag);
}

at::Tensor FastLayer::product(const WeightLayer& layer, const at::Tensor& x,
                              const at::Tensor& weight, const at::Tensor& bias) const {
  return fast_product(*this, layer.info(), x, weight, bias);
}

}  // namespace adagp::nn
