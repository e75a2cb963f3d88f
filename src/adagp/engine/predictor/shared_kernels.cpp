#include "adagp/engine/predictor/shared_kernels.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/gpu/device/kernels.h"
#include "adagp/gpu/device/memory_order.h"

namespace adagp::predictor {
namespace {

// Dense, and in the memory order of the weight: the kernels see [rows, cols].
bool matches(const at::Tensor& gradient, const at::Tensor& weight) {
  return device::has_type(gradient) && gradient.sizes() == weight.sizes() &&
         device::same_order(gradient, weight);
}

float* data(const at::Tensor& x) {
  return x.mutable_data_ptr<float>();
}

}  // namespace

bool SharedKernels::serve(const std::vector<nn::WeightLayer*>& layers, const Config& config) {
  const auto* first = layers.front();
  return device::has_kernels(first->weight.device()) && first->bf16_weight.defined() &&
         config.summary == cuda::kSummary && config.channels <= cuda::kChannels &&
         config.pooled == cuda::kPooled && config.steps == "joint" && config.order == "conv-pool" &&
         layers.size() <= cuda::kMostTrained;
}

SharedKernels::SharedKernels(const std::vector<nn::WeightLayer*>& layers, TrainedNet& net,
                             RunningRms& rms)
    : layers_(layers), trained_(&net), rms_(&rms) {
  int64_t rows = 0, widest = 0;
  for (const auto* layer : layers_) {
    rows += layer->info().rows();
    widest = std::max(widest, layer->info().cols());
  }
  const auto options = at::TensorOptions(layers_.front()->weight.device());
  const auto own = [&](const char* name, at::IntArrayRef shape) {
    const auto zeros = [&](at::IntArrayRef size) { return at::zeros(size, options); };
    return Own{name, zeros(shape), zeros(shape), zeros(shape), zeros({1})};
  };
  conv_weight_ = own("conv.weight", {cuda::kChannels, 9});
  conv_bias_ = own("conv.bias", {cuda::kChannels});
  fc_weight_ = own("fc.weight", {widest, cuda::kFeatures});
  fc_bias_ = own("fc.bias", {widest});
  fc_low_ = at::empty({widest, cuda::kFeatures}, options.dtype(at::kBFloat16));
  features_ = at::empty({rows, cuda::kFeatures}, options.dtype(at::kBFloat16));
  seen_ = at::zeros({1}, options.dtype(at::kByte));
  loss_ = at::zeros({1}, options);

  net_.conv_weight = data(conv_weight_.weight);
  net_.conv_bias = data(conv_bias_.weight);
  net_.fc_weight = data(fc_weight_.weight);
  net_.fc_bias = data(fc_bias_.weight);
  net_.fc_low = fc_low_.mutable_data_ptr();
  net_.widest = widest;
  net_.mean_square = data(rms_->mean_square());
  net_.scale = data(rms_->scale());
  pull();
}

cuda::ParamSlot SharedKernels::Own::slot() const {
  cuda::ParamSlot out;
  out.weight = data(weight);
  out.first = data(first);
  out.second = data(second);
  out.steps = data(steps);
  out.count = weight.numel();
  return out;
}

// Fewer channels are the first rows of the convolution and the first columns of the FC.
at::Tensor SharedKernels::Own::inner(const at::Tensor& padded, at::IntArrayRef shape) const {
  if (padded.dim() == 1) return padded.narrow(0, 0, shape[0]);
  if (shape.size() == 4) return padded.narrow(0, 0, shape[0]).view(shape);
  return padded.narrow(1, 0, shape[1]);
}

template <typename Visit>
void SharedKernels::for_each(std::map<std::string, at::Tensor>& state, const Visit& visit) const {
  for (const Own* own : {&conv_weight_, &conv_bias_, &fc_weight_, &fc_bias_}) {
    at::Tensor& value = state.at("param." + own->name);
    const std::vector<int64_t> shape = value.sizes().vec();
    visit(own->inner(own->weight, shape), value);
    visit(own->inner(own->first, shape), state.at("optimizer.mean." + own->name));
    visit(own->inner(own->second, shape), state.at("optimizer.square." + own->name));
    visit(own->steps.select(0, 0), state.at("optimizer.step." + own->name));
  }
}

void SharedKernels::pull() {
  const at::NoGradGuard no_grad;
  auto state = trained_->state();
  for_each(state, [](at::Tensor own, const at::Tensor& other) { own.copy_(other); });
  fc_low_.copy_(fc_weight_.weight);
  seen_.fill_(rms_->seen(0) ? 1 : 0);
}

void SharedKernels::push() {
  const at::NoGradGuard no_grad;
  auto state = trained_->state();
  for_each(state, [](const at::Tensor& own, at::Tensor& other) { other.copy_(own); });
}

void SharedKernels::replace_in(std::map<std::string, at::Tensor>& state) const {
  for_each(state, [](const at::Tensor& own, at::Tensor& other) { other = own.contiguous(); });
}

void SharedKernels::take_features(const Summaries& summaries, int64_t first_row, int64_t rows,
                                  bool behind_pool) {
  cuda::FeaturesArgs a;
  a.summaries = summaries.rows().narrow(0, first_row, rows).const_data_ptr<float>();
  a.rows = rows;
  a.net = &net_;
  a.features = features_.narrow(0, first_row, rows).mutable_data_ptr();
  a.behind_pool = behind_pool;
  cuda::predictor_features(a, device::stream(features_.device()));
}

cuda::PredictedLayer SharedKernels::place(const Summaries& summaries, size_t layer) const {
  const nn::LayerInfo& info = layers_[layer]->info();
  cuda::PredictedLayer out;
  out.first_row = summaries.offset(layer);
  out.rows = info.rows();
  out.cols = info.cols();
  return out;
}

bool SharedKernels::predict(const Summaries& summaries, const GradientSink& sink) {
  const auto direct = sink.direct();
  if (!direct || !direct->optimizer->kernels()) return false;
  std::vector<cuda::PredictedLayer> wanted;
  std::vector<int> ids;
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    wanted.push_back(place(summaries, l));
    wanted.back().slot = direct->optimizer->slot((*direct->slots)[l]);
    ids.push_back(static_cast<int>(l));
  }
  // Rows of other layers are left alone: another stream may be at work on them.
  for (size_t i = 0; i < wanted.size();) {
    const int64_t first = wanted[i].first_row;
    int64_t end = first;
    const bool behind_pool = i == 0 && direct->behind_pool;
    for (; i < wanted.size() && wanted[i].first_row == end; ++i) end += wanted[i].rows;
    take_features(summaries, first, end - first, behind_pool);
  }
  cuda::PredictArgs a;
  a.layers = wanted.data();
  a.ids = ids.data();
  a.count = static_cast<int64_t>(wanted.size());
  a.net = &net_;
  a.features = features_.const_data_ptr();
  a.rule = direct->optimizer->rule();
  a.behind_features = true;
  a.beside = direct->beside;
  cuda::predict_update(a, device::stream(features_.device()));
  return true;
}

bool SharedKernels::learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                          at::Tensor& loss) {
  std::vector<cuda::PredictedLayer> all;
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!matches(gradients[l], layers_[l]->weight)) return false;
    all.push_back(place(summaries, l));
    all.back().slot.gradient = gradients[l].const_data_ptr();
    all.back().slot.gradient_type = device::type_of(gradients[l]);
    all.back().slot.count = gradients[l].numel();
  }
  take_features(summaries, 0, summaries.rows().size(0), /*behind_pool=*/false);
  cuda::TrainArgs a;
  a.layers = all.data();
  a.count = static_cast<int64_t>(all.size());
  a.net = net_;
  a.conv_weight = conv_weight_.slot();
  a.conv_bias = conv_bias_.slot();
  a.fc_weight = fc_weight_.slot();
  a.fc_bias = fc_bias_.slot();
  a.rule = trained_->optimizer().rule();
  a.summaries = summaries.rows().const_data_ptr<float>();
  a.features = features_.const_data_ptr();
  a.rows = summaries.rows().size(0);
  a.rms_decay = static_cast<float>(RunningRms::kDecay);
  a.normalise = rms_->enabled();
  a.seen = seen_.mutable_data_ptr<uint8_t>();
  a.loss = data(loss_);
  a.behind_features = true;
  a.block_memory = device::block_memory(features_.device());
  a.workspace = device::scratch(device::Scratch::kTrain, features_.device(),
                                cuda::train_workspace(all.data(), a.count, net_.widest));
  cuda::predictor_train(a, device::stream(features_.device()));
  rms_->mark_seen();
  loss = loss_.reshape({});
  return true;
}

}  // namespace adagp::predictor
