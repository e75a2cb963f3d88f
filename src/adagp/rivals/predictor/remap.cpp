#include "adagp/rivals/predictor/remap.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/rivals/entries.h"

namespace adagp::predictor {
namespace {

constexpr int64_t kPool = 4;
constexpr int kBlocks = 4;

}  // namespace

RemapPredictor::RemapPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                               uint64_t seed, int64_t batches_per_epoch, const PredictorSync& sync)
    : layers_(layers),
      config_(config),
      cyclic_tail_(config.tail == "cyclic"),
      net_(config, batches_per_epoch, at::TensorOptions(layers.front()->weight.device()), seed),
      rms_(layer_names(layers), config.target == "rms",
           at::TensorOptions(layers.front()->weight.device())) {
  if (sync.sum) {
    throw UsageError(
        "predictor.kind = remap: its batch norm sees the layers one after another, so they cannot "
        "be "
        "spread over the stages of a pipeline; use predictor.kind = shared");
  }
  if (config.summary < kPool) {
    throw UsageError(
        core::cat("predictor.summary = ", config.summary, ": remap needs at least ", kPool));
  }
  const at::TensorOptions options(layers.front()->weight.device());
  const int64_t f = config.remap_channels;
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t in = b == 0 ? 1 : f;
    const std::string name = "block" + std::to_string(b);
    Block block;
    block.weight = net_.parameter(name + ".conv", {f, in, 3, 3}, 1.0 / std::sqrt(9.0 * in));
    block.gain = net_.constant(name + ".gain", {f}, 1.0);
    block.shift = net_.constant(name + ".shift", {f}, 0.0);
    block.mean = at::zeros({f}, options);
    block.variance = at::ones({f}, options);
    blocks_.push_back(block);
  }
  const int64_t side = config.summary / kPool;
  const int64_t inputs = f * side * side;
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  fc_weight_ = net_.parameter("fc.weight", {config.remap_outputs, inputs}, bound);
  fc_bias_ = net_.parameter("fc.bias", {config.remap_outputs}, bound);
  net_.finish();
}

at::Tensor RemapPredictor::vector_of(const at::Tensor& rows, bool training) {
  const int64_t s = config_.summary;
  at::Tensor x = rows.view({-1, 1, s, s});
  for (auto& block : blocks_) {
    x = at::conv2d(x, block.weight, {}, {1, 1}, {1, 1});
    x = at::batch_norm(x, block.gain, block.shift, block.mean, block.variance, training, 0.1, 1e-5,
                       false);
    x = at::relu(x);
  }
  x = at::max_pool2d(x, {kPool, kPool}).flatten(1);  // [C, inputs]
  // The FC is linear: the mean over filters may be taken before it.
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
    const at::Tensor vector = vector_of(summaries.rows(l), false).mul_(rms_.scale(l));
    const at::Tensor& weight = layers_[l]->weight;
    const at::Tensor rows = spread(vector, weight.numel()).contiguous();
    sink.accept(l, like_weight(rows.view({weight.size(0), -1}), weight));
  }
}

at::Tensor RemapPredictor::learn(const Summaries& summaries,
                                 const std::vector<at::Tensor>& gradients, const Context&) {
  const at::AutoGradMode with_graph(true);
  at::Tensor loss = at::zeros({}, summaries.rows().options());
  for (size_t l = 0; l < layers_.size(); ++l) {
    const at::Tensor target = as_rows(gradients[l]).reshape({-1}).to(at::kFloat);
    {
      const at::NoGradGuard no_grad;
      rms_.update(l, target);
    }
    const at::Tensor predicted = spread(vector_of(summaries.rows(l), true), target.numel());
    loss = loss + at::mse_loss(predicted, target.div(rms_.scale(l)));
  }
  loss = loss / static_cast<double>(layers_.size());
  torch::autograd::backward({loss}, {});
  loss = loss.detach();
  net_.step(loss);
  return loss;
}

double RemapPredictor::macs(int64_t) const {
  int64_t row = 0;
  for (const Block& block : blocks_)
    row += block.weight.numel() * config_.summary * config_.summary;
  double sum = 0;
  for (const auto* layer : layers_) {
    sum += static_cast<double>(layer->info().rows() * row + fc_weight_.numel());
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
          maker<RemapPredictor>()};
}

}  // namespace adagp::predictor
