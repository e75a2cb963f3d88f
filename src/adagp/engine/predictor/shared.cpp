#include "adagp/engine/predictor/shared.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/entries.h"
#include "adagp/engine/predictor/layout.h"

namespace adagp::predictor {
namespace {

SharedPredictor::Front make_convolution(const Config& config, TrainedNet& net) {
  const double bound = 1.0 / 3.0;  // fan-in 1*3*3
  const at::Tensor weight = net.parameter("conv.weight", {config.channels, 1, 3, 3}, bound);
  const at::Tensor bias = net.parameter("conv.bias", {config.channels}, bound);
  const int64_t s = config.summary, pooled = config.pooled, side = convolved_side(config);
  const bool pool_first = config.order == "pool-conv";
  const auto run = [weight, bias, s, pooled, pool_first](const at::Tensor& rows) {
    const auto pool = [&](const at::Tensor& x) {
      return at::adaptive_avg_pool2d(x, {pooled, pooled});
    };
    at::Tensor x = rows.view({-1, 1, s, s});  // [R, 1, s, s]
    if (pool_first) x = pool(x);
    x = at::relu(at::conv2d(x, weight, bias, {1, 1}, {1, 1}));  // [R, F, side, side]
    if (!pool_first) x = pool(x);
    return x.flatten(1);
  };
  return {feature_count(config), weight.numel() * side * side, run};
}

}  // namespace

SharedPredictor::SharedPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                                 uint64_t seed, int64_t batches_per_epoch,
                                 const PredictorSync& sync)
    : SharedPredictor(layers, config, seed, batches_per_epoch, sync, make_convolution) {
  // The kernels take the whole step, with no place to add up in between.
  if (!sync.sum && SharedKernels::serve(layers, config)) kernels_.emplace(layers, net_, rms_);
}

SharedPredictor::SharedPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                                 uint64_t seed, int64_t batches_per_epoch,
                                 const PredictorSync& sync, const MakeFront& make_front)
    : layers_(layers),
      all_layers_(sync.all.empty() ? layers.size() : sync.all.size()),
      config_(config),
      net_(config, batches_per_epoch, predictor_options(layers), seed, sync),
      rms_(layer_names(layers), config.target == "rms", predictor_options(layers)) {
  if (sync.sum && config.steps != "joint") {
    throw UsageError("predictor.steps = " + config.steps +
                     ": the stages of a pipeline teach one predictor in one step; use joint");
  }
  int64_t widest = 0, largest = 0;
  for (const auto* layer : layers_) {
    largest = std::max(largest, layer->info().rows() * layer->info().cols());
  }
  for (const auto* layer : sync.all.empty() ? layers_ : sync.all) {
    widest = std::max(widest, layer->info().cols());
  }
  front_ = make_front(config, net_);
  const double fc_bound = 1.0 / std::sqrt(static_cast<double>(front_.features));
  fc_weight_ = net_.parameter("fc.weight", {widest, front_.features}, fc_bound);
  fc_bias_ = net_.parameter("fc.bias", {widest}, fc_bound);
  net_.finish();
  scratch_ = at::empty({largest}, predictor_options(layers));
}

void SharedPredictor::predict(const Summaries& summaries, const Context&, GradientSink& sink) {
  const at::NoGradGuard no_grad;
  if (kernels_) {
    if (kernels_->predict(summaries, sink)) return;
    kernels_->push();
  }
  const at::Tensor all = front_.run(summaries.rows());  // [R, F*p*p]
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    const int64_t filters = layers_[l]->info().rows(), cols = layers_[l]->info().cols();
    const at::Tensor scale = rms_.scale(l);
    // The layer's scale goes into the small factors, so the large product is written once.
    const at::Tensor input = all.narrow(0, summaries.offset(l), filters).mul(scale);
    const at::Tensor bias = fc_bias_.narrow(0, 0, cols).mul(scale);
    at::Tensor gradient = scratch_.narrow(0, 0, filters * cols).view({filters, cols});
    at::addmm_out(gradient, bias, input, fc_weight_.narrow(0, 0, cols).t());
    sink.accept(l, like_weight(gradient, layers_[l]->weight));
  }
}

at::Tensor SharedPredictor::learn(const Summaries& summaries,
                                  const std::vector<at::Tensor>& gradients, const Context&) {
  at::Tensor loss;
  if (kernels_) {
    if (kernels_->learn(summaries, gradients, loss)) return loss;
    kernels_->push();
  }
  loss = at::zeros({}, predictor_options(layers_));
  if (config_.steps == "joint") {
    step_for(summaries, gradients, 0, layers_.size(), all_layers_, loss);
  } else {
    for (size_t l = layers_.size(); l-- > 0;) step_for(summaries, gradients, l, l + 1, 1, loss);
  }
  if (kernels_) kernels_->pull();  // this step was not theirs
  return loss;
}

void SharedPredictor::step_for(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                               size_t first, size_t end, size_t of, at::Tensor& loss) {
  const int64_t begin = summaries.offset(first);
  const int64_t rows = summaries.offset(end - 1) + layers_[end - 1]->info().rows() - begin;
  at::Tensor all;
  {
    const at::AutoGradMode with_graph(true);
    all = front_.run(summaries.rows().narrow(0, begin, rows));
  }
  // The FC's gradients are written by hand: autograd would build full-width matrices for layers
  // that use only their first columns.
  const at::NoGradGuard no_grad;
  const at::Tensor inputs = all.detach();
  at::Tensor input_gradient = at::empty_like(inputs);
  at::Tensor weight_gradient = at::zeros_like(fc_weight_);
  at::Tensor bias_gradient = at::zeros_like(fc_bias_);
  for (size_t l = first; l < end; ++l) {
    const int64_t filters = layers_[l]->info().rows(), cols = layers_[l]->info().cols();
    const at::Tensor target = as_rows(gradients[l]).to(fc_weight_.scalar_type());
    rms_.update(l, target);

    const at::Tensor input = inputs.narrow(0, summaries.offset(l) - begin, filters);  // [C, K]
    const at::Tensor weight = fc_weight_.narrow(0, 0, cols);                          // [n, K]
    at::Tensor error = scratch_.narrow(0, 0, filters * cols).view({filters, cols});
    at::addmm_out(error, fc_bias_.narrow(0, 0, cols), input, weight.t());
    error.addcdiv_(target, rms_.scale(l), -1);

    // loss = mean over layers of mean(error^2), so d loss / d prediction = share * error.
    const double entries = static_cast<double>(filters * cols);
    const double share = 2.0 / (static_cast<double>(of) * entries);
    const at::Tensor flat = error.view({-1});
    loss.add_(at::dot(flat, flat), 1.0 / (static_cast<double>(all_layers_) * entries));
    weight_gradient.narrow(0, 0, cols).addmm_(error.t(), input, 1, share);
    bias_gradient.narrow(0, 0, cols).add_(error.sum(0), share);
    at::Tensor into = input_gradient.narrow(0, summaries.offset(l) - begin, filters);
    at::addmm_out(into, into, error, weight, 0, share);
  }

  torch::autograd::backward({all}, {input_gradient});  // the convolution's part
  fc_weight_.mutable_grad() = weight_gradient;
  fc_bias_.mutable_grad() = bias_gradient;
  net_.step(loss);
}

double SharedPredictor::macs(int64_t) const {
  double sum = 0;
  for (const auto* layer : layers_) {
    const int64_t row = front_.macs + fc_weight_.size(1) * layer->info().cols();
    sum += static_cast<double>(layer->info().rows()) * static_cast<double>(row);
  }
  return sum;
}

std::map<std::string, at::Tensor> SharedPredictor::state() const {
  auto out = net_.state();
  if (kernels_) kernels_->replace_in(out);
  out.merge(rms_.state());
  return out;
}

void SharedPredictor::load_state(const std::map<std::string, at::Tensor>& state) {
  net_.load_state(state);
  rms_.load_state(state);
  if (kernels_) kernels_->pull();
}

Entry entries::shared() {
  return {"shared", "the paper's: one small conv + FC for all layers, one row per filter",
          maker<SharedPredictor>()};
}

}  // namespace adagp::predictor
