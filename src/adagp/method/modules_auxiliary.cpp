// modules.signal = auxiliary: decoupled greedy learning (Belilovsky et al. 2020). Every module but
// the last has a small classifier behind it and learns from that classifier's loss. No gradient
// crosses a cut.

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"
#include "adagp/device/autocast.h"
#include "adagp/device/kernels.h"
#include "adagp/method/modules.h"
#include "adagp/run/weights.h"
#include "adagp/step/micro_batches.h"
#include "adagp/task/loss.h"

namespace adagp::method {
namespace {

namespace tnn = torch::nn;

// The published "mlp-sr": the map is pooled to a quarter of its side; three 1x1 convolutions;
// pooled to 2x2; three fully connected layers and the classifier.
class AuxiliaryHead : public tnn::Module {
 public:
  AuxiliaryHead(int64_t channels, int64_t height, int64_t width, int64_t classes) {
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
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor map = x.dim() == 4 ? x : x.flatten(1).unsqueeze(-1).unsqueeze(-1);
    return vectors_->forward(maps_->forward(map).flatten(1));
  }
  double macs() const { return macs_; }  // of one example, forward

 private:
  static constexpr int kLayers = 3;
  tnn::Sequential maps_, vectors_;
  double macs_ = 0;
};

class Auxiliary : public Modules {
 public:
  explicit Auxiliary(step::Session& s)
      : Modules(s), unused_(s.device, device::has_kernels(s.device)) {
    if (count() == 1) return;
    if (s.task->kind() != models::TaskKind::kClassification) {
      throw UsageError(core::cat("modules.signal = auxiliary needs classes, and the task is ",
                                 models::task_name(s.task->kind()),
                                 "; use modules.signal = delayed"));
    }
    if (s.config.batch < 2) {
      throw UsageError(
          "batch = 1: the batch norms of modules.signal = auxiliary need 2 examples or more");
    }
    make_heads(s);
  }

  void advance(step::Session& s) override {
    if (optimizer_) optimizer_->set_lr(s.lr);
  }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    step::StepResult result;
    result.targets = batch.targets;
    models::Tensors x = batch.inputs;
    for (size_t m = 0; m < count(); ++m) {
      const models::Tensors made = run(s, m, x);
      const models::Tensors scores = last(m) ? made : models::Tensors{classify(s, m, made)};
      const task::Loss loss = last(m) ? s.loss(made, batch, true)
                                      : task::softmax_loss(unused_, s.config.label_smoothing,
                                                           scores[0], batch.labels(), {});
      task::backward(loss, scores, 1, batch.weights);
      if (last(m)) {
        result.add(loss.value.detach(), 1);
        step::append(result.outputs, made);
      }
      x.clear();
      for (const at::Tensor& output : made) x.push_back(output.detach());
    }
    update(s);
    if (optimizer_) update_heads(s);
    return result;
  }

  double cost(const step::Session&, const Costs& costs, const plan::BatchContext&,
              int64_t examples) const override {
    double sum = costs.forward();
    for (size_t m = 0; m < count(); ++m) {
      sum += costs.backward_of(first_block(m), first_block(m + 1));
      if (!last(m)) sum += 3 * heads_[m]->macs();  // forward, and two products backward
    }
    return sum * static_cast<double>(examples);
  }

  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (size_t m = 0; m < heads_.size(); ++m) {
      for (const auto& [name, tensor] : run::state_dict(*heads_[m])) {
        out[head_name(m) + name] = tensor;
      }
    }
    if (!optimizer_) return out;
    for (const auto& [name, tensor] : optimizer_->state()) out[kOptimizer + name] = tensor;
    return out;
  }

  void load_state(const std::map<std::string, at::Tensor>& state) override {
    if (!optimizer_) return;
    const auto under = [&](const std::string& prefix) {
      io::TensorMap out;
      for (const auto& [name, tensor] : state) {
        if (name.starts_with(prefix)) out[name.substr(prefix.size())] = tensor;
      }
      return out;
    };
    for (size_t m = 0; m < heads_.size(); ++m) {
      run::load_state_dict(*heads_[m], under(head_name(m)), "checkpoint");
    }
    optimizer_->load_state(under(kOptimizer));
  }

 private:
  static inline const std::string kOptimizer = "optimizer.";

  static std::string head_name(size_t module) { return core::cat("head", module, "."); }

  // Their weights come from a generator state of their own, so that the network draws the numbers
  // it would draw without them.
  void make_heads(const step::Session& s) {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const at::Tensor before = generator.get_state();
    at::manual_seed(core::mix({static_cast<uint64_t>(s.config.seed), 0x68656164ULL}));
    const int64_t classes = s.task->model_options(s.config).classes;
    std::vector<optim::Param> params;
    for (size_t m = 0; !last(m); ++m) {
      const at::Tensor& x = shapes_behind(m).at(0);  // [1, C, H, W] or [1, C]
      const bool map = x.dim() == 4;
      heads_.push_back(std::make_shared<AuxiliaryHead>(
          map ? x.size(1) : x.numel(), map ? x.size(2) : 1, map ? x.size(3) : 1, classes));
      heads_.back()->to(s.device);
      for (const auto& item : heads_.back()->named_parameters()) {
        params.push_back({head_name(m) + item.key(), item.value()});
      }
    }
    generator.set_state(before);
    optimizer_ = optim::make_optimizer(params, s.config.optim);
  }

  at::Tensor classify(const step::Session& s, size_t module, const models::Tensors& x) const {
    const device::AutocastScope autocast(s.device, s.bf16);
    return heads_[module]->forward(x.at(0));
  }

  void update_heads(const step::Session& s) {
    const at::NoGradGuard no_grad;
    if (s.config.clip > 0) optimizer_->clip(s.config.clip);
    optimizer_->step();
    optimizer_->clear_gradients();
  }

  std::vector<std::shared_ptr<AuxiliaryHead>> heads_;  // of all modules but the last
  std::unique_ptr<optim::Optimizer> optimizer_;        // theirs; null: there are none
  task::RunningMetrics unused_;                        // their figures are nobody's
};

}  // namespace

std::unique_ptr<Method> make_auxiliary(step::Session& session) {
  return std::make_unique<Auxiliary>(session);
}

}  // namespace adagp::method
