// Controls that put something free in the place of predictions.

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/engine/method/entries.h"
#include "adagp/engine/method/substitute.h"

namespace adagp::method {
namespace {

// Controls that look at no batch, unless the exact head makes them.
class Blind : public Substitute {
 public:
  explicit Blind(const step::Session& s) : exact_head_(s.head == step::Head::kExact) {}
  Traits traits() const override { return {.cheap_needs_data = exact_head_, .substitutes = true}; }

 private:
  bool exact_head_;
};

// zero: momentum and decay act, the gradient is 0.
class Zero : public Blind {
 public:
  explicit Zero(const step::Session& s) : Blind(s) {
    int64_t largest = 0;
    for (const auto* layer : s.layers) largest = std::max(largest, layer->weight.numel());
    zeros_ = at::empty({largest}, s.layers.front()->weight.options().requires_grad(false));
  }

 protected:
  void source(step::Session& s, const predictor::Context&, predictor::GradientSink& sink) override {
    for (size_t l = 0; l < s.layers.size(); ++l) {
      if (!sink.wants(l)) continue;
      const at::Tensor& weight = s.layers[l]->weight;
      const at::Tensor rows =
          zeros_.narrow(0, 0, weight.numel()).view({weight.size(0), -1}).zero_();
      sink.accept(l, predictor::like_weight(rows, weight));
    }
  }

 private:
  at::Tensor zeros_;
};

// ema: the running mean of the true gradients.
class Ema : public Blind {
 public:
  explicit Ema(const step::Session& s) : Blind(s) {
    for (const auto* layer : s.layers) {
      means_.push_back(at::zeros_like(layer->weight.detach()));
      paths_.push_back(layer->path());
    }
  }
  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (size_t l = 0; l < means_.size(); ++l) out["mean." + paths_[l]] = means_[l];
    return out;
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    for (size_t l = 0; l < means_.size(); ++l) means_[l].copy_(saved(state, "mean." + paths_[l]));
  }

 protected:
  void learn(step::Session& s, const std::vector<at::Tensor>& gradients,
             const predictor::Context&) override {
    const double d = s.config.ema_decay;
    for (size_t l = 0; l < means_.size(); ++l) means_[l].mul_(d).add_(gradients[l], 1.0 - d);
  }
  void source(step::Session& s, const predictor::Context&, predictor::GradientSink& sink) override {
    for (size_t l = 0; l < s.layers.size(); ++l) {
      // A sink may overwrite what it is given.
      if (sink.wants(l)) sink.accept(l, means_[l].clone());
    }
  }

 private:
  std::vector<at::Tensor> means_;
  std::vector<std::string> paths_;
};

}  // namespace

MethodEntry entries::zero() {
  return {.name = "zero",
          .about = "gradient 0 in GP batches; momentum and decay act",
          .standing = Standing::kControl,
          .cheap = Cheap::kScheduled,
          .make = maker<Zero>()};
}

MethodEntry entries::ema() {
  return {.name = "ema",
          .about = "running mean of the true gradients in GP batches",
          .standing = Standing::kControl,
          .cheap = Cheap::kScheduled,
          .make = maker<Ema>(),
          .learns_itself = true};
}

}  // namespace adagp::method
