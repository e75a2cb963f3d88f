#include "adagp/rivals/method/auxiliary_head.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/weights.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

namespace tnn = torch::nn;

const std::string kOptimizer = "optimizer.";

std::string head_name(size_t head) {
  return core::cat("head", head, ".");
}

}  // namespace

AuxiliaryHead::AuxiliaryHead(int64_t channels, int64_t height, int64_t width, int64_t classes) {
  const auto quarter = [](int64_t side) { return (side + 3) / 4; };
  const int64_t h = quarter(height), w = quarter(width);
  maps_->push_back(tnn::AdaptiveAvgPool2d(tnn::AdaptiveAvgPool2dOptions({h, w})));
  for (int i = 0; i < kLayers; ++i) {
    maps_->push_back(tnn::Conv2d(tnn::Conv2dOptions(channels, channels, 1).bias(false)));
    maps_->push_back(tnn::BatchNorm2d(channels));
    maps_->push_back(tnn::ReLU());
  }
  const int64_t rows = std::min<int64_t>(2, h), columns = std::min<int64_t>(2, w);
  maps_->push_back(tnn::AdaptiveAvgPool2d(tnn::AdaptiveAvgPool2dOptions({rows, columns})));
  const int64_t features = channels * rows * columns;
  for (int i = 0; i < kLayers; ++i) {
    vectors_->push_back(tnn::Linear(tnn::LinearOptions(features, features).bias(false)));
    vectors_->push_back(tnn::BatchNorm1d(features));
    vectors_->push_back(tnn::ReLU());
  }
  vectors_->push_back(tnn::Linear(features, classes));
  register_module("maps", maps_);
  register_module("vectors", vectors_);
  macs_ = static_cast<double>(kLayers * (channels * channels * h * w + features * features) +
                              features * classes);
}

at::Tensor AuxiliaryHead::forward(const at::Tensor& x) {
  const at::Tensor map = x.dim() == 4 ? x : x.flatten(1).unsqueeze(-1).unsqueeze(-1);
  return vectors_->forward(maps_->forward(map).flatten(1));
}

// Their weights come from a generator state of their own, so that the network draws the numbers it
// would draw without them.
AuxiliaryHeads::AuxiliaryHeads(const step::Session& s, const std::vector<at::Tensor>& shapes,
                               const optim::Config& optimizer) {
  if (shapes.empty()) return;
  const std::string signal =
      "modules.signal = " + s.config.parts.get<rivals::ModulesOptions>().signal;
  if (s.task->kind() != models::TaskKind::kClassification) {
    throw UsageError(core::cat(signal, " needs classes, and the task is ",
                               models::task_name(s.task->kind()),
                               "; use modules.signal = delayed"));
  }
  if (s.config.batch < 2) {
    throw UsageError("batch = 1: the batch norms of " + signal + " need 2 examples or more");
  }
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const at::Tensor before = generator.get_state();
  at::manual_seed(core::mix({static_cast<uint64_t>(s.config.seed), 0x68656164ULL}));
  const int64_t classes = s.task->model_options(s.config).classes;
  std::vector<optim::Param> params;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const at::Tensor& x = shapes[i];
    const bool map = x.dim() == 4;
    heads_.push_back(std::make_shared<AuxiliaryHead>(
        map ? x.size(1) : x.numel(), map ? x.size(2) : 1, map ? x.size(3) : 1, classes));
    heads_.back()->to(s.device);
    for (const auto& item : heads_.back()->named_parameters()) {
      params.push_back({head_name(i) + item.key(), item.value()});
    }
  }
  generator.set_state(before);
  optimizer_ = optim::make_optimizer(params, optimizer);
}

void AuxiliaryHeads::set_lr(double rate) {
  if (optimizer_) optimizer_->set_lr(rate);
}

at::Tensor AuxiliaryHeads::classify(const step::Session& s, size_t head,
                                    const at::Tensor& x) const {
  const device::AutocastScope autocast(s.device, s.bf16);
  return heads_[head]->forward(x);
}

void AuxiliaryHeads::update(const step::Session& s) {
  if (!optimizer_) return;
  const at::NoGradGuard no_grad;
  if (s.config.clip > 0) optimizer_->clip(s.config.clip);
  optimizer_->step();
  optimizer_->clear_gradients();
}

std::map<std::string, at::Tensor> AuxiliaryHeads::state() const {
  std::map<std::string, at::Tensor> out;
  for (size_t i = 0; i < heads_.size(); ++i) {
    for (const auto& [name, tensor] : run::state_dict(*heads_[i])) {
      out[head_name(i) + name] = tensor;
    }
  }
  if (!optimizer_) return out;
  for (const auto& [name, tensor] : optimizer_->state()) out[kOptimizer + name] = tensor;
  return out;
}

void AuxiliaryHeads::load_state(const std::map<std::string, at::Tensor>& state) {
  if (!optimizer_) return;
  const auto under = [&](const std::string& prefix) {
    io::TensorMap out;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) out[name.substr(prefix.size())] = tensor;
    }
    return out;
  };
  for (size_t i = 0; i < heads_.size(); ++i) {
    run::load_state_dict(*heads_[i], under(head_name(i)), "checkpoint");
  }
  optimizer_->load_state(under(kOptimizer));
}

}  // namespace adagp::method
