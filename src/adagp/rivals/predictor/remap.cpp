#include "adagp/rivals/predictor/remap.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::predictor {
namespace {

constexpr int kBlocks = 4;

// The summaries' side is fixed.
SummaryForm remap_form(const Config&) {
  return {kRemapSide, Pooling::kMaxima};
}

// Weights, then biases.
std::vector<std::string> scale_names(const std::vector<nn::WeightLayer*>& layers) {
  std::vector<std::string> names = layer_names(layers);
  for (size_t l = 0; l < layers.size(); ++l) names.push_back(names[l] + ".bias");
  return names;
}

// In PyTorch's order of elements, whatever the layout.
at::Tensor flat(const at::Tensor& gradient) {
  return gradient.contiguous().view({-1});
}

at::Tensor in_layout_of(const at::Tensor& weight, const at::Tensor& values) {
  const at::Tensor out = at::empty_like(weight, weight.options().requires_grad(false));
  out.copy_(values.view(weight.sizes()));
  return out;
}

}  // namespace

RemapPredictor::RemapPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                               uint64_t seed, int64_t batches_per_epoch, const PredictorSync& sync)
    : layers_(layers),
      cyclic_tail_(config.tail == "cyclic"),
      net_(config, batches_per_epoch, predictor_options(layers), seed),
      rms_(scale_names(layers), rivals::options_of(config).remap_target == "rms",
           predictor_options(layers)) {
  if (sync.sum) {
    throw UsageError(
        "predictor.kind = remap: its batch norm sees the layers one after another, so they cannot "
        "be spread over the stages of a pipeline; use predictor.kind = shared");
  }
  const at::TensorOptions options = predictor_options(layers);
  const int64_t f = config.remap_channels;
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t in = b == 0 ? 1 : f;
    const std::string name = "block" + std::to_string(b);
    Block block;
    block.weight = net_.parameter(name + ".conv", {f, in, 3, 3},
                                  1.0 / std::sqrt(9.0 * static_cast<double>(in)));
    block.gain = net_.constant(name + ".gain", {f}, 1.0);
    block.shift = net_.constant(name + ".shift", {f}, 0.0);
    block.mean = at::zeros({f}, options);
    block.variance = at::ones({f}, options);
    blocks_.push_back(block);
  }
  const int64_t inputs = f * kRemapSide * kRemapSide;
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  fc_weight_ = net_.parameter("fc.weight", {config.remap_outputs, inputs}, bound);
  fc_bias_ = net_.parameter("fc.bias", {config.remap_outputs}, bound);
  net_.finish();
}

at::Tensor RemapPredictor::vector_of(const at::Tensor& rows, bool training) {
  at::Tensor x = rows.view({-1, 1, kRemapSide, kRemapSide});
  for (auto& block : blocks_) {
    x = at::conv2d(x, block.weight, {}, {1, 1}, {1, 1});
    x = at::batch_norm(x, block.gain, block.shift, block.mean, block.variance, training, 0.1, 1e-5,
                       false);
    x = at::relu(x);
  }
  x = x.flatten(1);  // [R, inputs]
  // The FC is linear: the mean over rows may be taken before it.
  return at::linear(x.mean(at::IntArrayRef{0}).unsqueeze(0), fc_weight_, fc_bias_).squeeze(0);
}

at::Tensor RemapPredictor::spread(const at::Tensor& vector, int64_t length) const {
  const int64_t n = vector.numel();
  if (length <= n) return vector.narrow(0, 0, length);
  const int64_t whole = length / n, rest = length % n;
  const at::Tensor body = vector.repeat({whole});
  if (rest == 0) return body;
  const at::Tensor tail =
      cyclic_tail_ ? vector.narrow(0, 0, rest) : vector.narrow(0, n - 1, 1).expand({rest});
  return at::cat({body, tail});
}

void RemapPredictor::predict(const Summaries& summaries, const Context&, GradientSink& sink) {
  const at::NoGradGuard no_grad;
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    const at::Tensor vector = vector_of(summaries.rows(l), false);
    const at::Tensor &weight = layers_[l]->weight, &bias = layers_[l]->bias;
    sink.accept(l, in_layout_of(weight, spread(vector.mul(rms_.scale(l)), weight.numel())));
    if (!bias.defined()) continue;
    sink.accept_bias(l, spread(vector.mul(rms_.scale(bias_scale(l))), bias.numel()));
  }
}

at::Tensor RemapPredictor::error(const at::Tensor& vector, const at::Tensor& gradient,
                                 size_t scale) {
  const at::Tensor target = flat(gradient).to(fc_weight_.scalar_type());
  {
    const at::NoGradGuard no_grad;
    rms_.update(scale, target);
  }
  return at::mse_loss(spread(vector, target.numel()),
                      rms_.enabled() ? target.div(rms_.scale(scale)) : target);
}

at::Tensor RemapPredictor::learn(const Summaries& summaries,
                                 const std::vector<at::Tensor>& gradients, const Context&) {
  const at::AutoGradMode with_graph(true);
  at::Tensor loss = at::zeros({}, summaries.rows().options());
  for (size_t l = 0; l < layers_.size(); ++l) {
    const at::Tensor vector = vector_of(summaries.rows(l), true);
    loss = loss + error(vector, gradients[l], l);
    const at::Tensor bias = bias_gradient_of(*layers_[l]);
    if (bias.defined()) loss = loss + error(vector, bias, bias_scale(l));
  }
  torch::autograd::backward({loss}, {});
  loss = loss.detach();
  net_.step(loss);
  return loss;
}

double RemapPredictor::macs(int64_t) const {
  int64_t row = 0;
  for (const Block& block : blocks_) row += block.weight.numel() * kRemapSide * kRemapSide;
  double sum = 0;
  for (const auto* layer : layers_) {
    const bool map = layer->info().kind == nn::LayerKind::kConv2d;
    sum += static_cast<double>((map ? layer->info().rows() : 1) * row + fc_weight_.numel());
  }
  return sum;
}

std::map<std::string, at::Tensor> RemapPredictor::state() const {
  auto out = net_.state();
  out.merge(rms_.state());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    out["block" + std::to_string(b) + ".mean"] = blocks_[b].mean;
    out["block" + std::to_string(b) + ".variance"] = blocks_[b].variance;
  }
  return out;
}

void RemapPredictor::load_state(const std::map<std::string, at::Tensor>& state) {
  net_.load_state(state);
  rms_.load_state(state);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (auto [suffix, tensor] :
         {std::pair{".mean", &blocks_[b].mean}, std::pair{".variance", &blocks_[b].variance}}) {
      const auto found = state.find("block" + std::to_string(b) + suffix);
      if (found == state.end())
        throw DataError("predictor state: batch-norm statistics are missing");
      tensor->copy_(found->second);
    }
  }
}

Entry entries::remap() {
  return {"remap", "a term project's: four convs + FC to one vector, repeated over the gradient",
          maker<RemapPredictor>(), remap_form};
}

}  // namespace adagp::predictor
