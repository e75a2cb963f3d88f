#include "adagp/train/methods.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/predictor/layout.h"
#include "adagp/train/bp_step.h"

namespace adagp::train {
namespace {

std::vector<at::Tensor> true_gradients(const Session& s) {
  std::vector<at::Tensor> gradients;
  for (const auto* layer : s.layers) gradients.push_back(predictor::gradient_of(*layer));
  return gradients;
}

const at::Tensor& saved(const std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw DataError("method state: '" + name + "' is missing");
  return found->second;
}

// bp, equal-time: every batch is exact.
class Backprop : public Method {
 public:
  StepResult exact_step(Session& s, const data::Batch& batch, Probes*) override {
    return bp_step(s, batch);
  }
  StepResult cheap_step(Session& s, const data::Batch& batch) override { return bp_step(s, batch); }
};

// skip: GP batches are dropped.
class Skip : public Backprop {
 public:
  StepResult cheap_step(Session&, const data::Batch&) override {
    return {{}, {}, {}, schedule::Phase::kPredict};
  }
  bool cheap_needs_data() const override { return false; }
  bool cheap_does_work() const override { return false; }
};

// small-batch: an exact step on the first part of a GP batch.
class SmallBatch : public Backprop {
 public:
  StepResult cheap_step(Session& s, const data::Batch& batch) override {
    const auto whole = static_cast<double>(batch.size());
    const int64_t count = std::max<int64_t>(1, static_cast<int64_t>(whole * s.config.small_batch));
    StepResult result = bp_step(s, batch.part(0, count));
    result.phase = schedule::Phase::kPredict;
    return result;
  }
};

// What adagp, wrong-input, zero and ema share: a BP batch shows its gradients to whoever learns
// from them, a GP batch applies gradients from source(). The head option acts on all of them alike.
class Substitute : public Method {
 public:
  bool substitutes() const override { return true; }
  StepResult exact_step(Session& s, const data::Batch& batch, Probes* probe) override {
    const StepResult result = backprop(s, batch, needs_summaries(s));
    const std::vector<at::Tensor> gradients = true_gradients(s);
    const at::NoGradGuard no_grad;
    if (probe != nullptr) {
      probe->see(gradients, [&](predictor::GradientSink& sink) {
        source(s, {result.outputs, result.targets}, sink);
      });
    }
    learn(s, gradients);
    update(s);
    return result;
  }

  StepResult cheap_step(Session& s, const data::Batch& batch) override {
    const auto from = [this](Session& session, const predictor::Context& context,
                             predictor::GradientSink& sink) { source(session, context, sink); };
    return cheap_needs_data() ? gp_step(s, batch, from) : blind_step(s, from);
  }

 protected:
  virtual bool needs_summaries(const Session&) const { return false; }
  virtual void learn(Session&, const std::vector<at::Tensor>&) {}
  virtual void source(Session& s, const predictor::Context& context,
                      predictor::GradientSink& sink) = 0;
};

// adagp: the method of the paper.
class AdaGp : public Substitute {
 public:
  void advance(Session& s) override { s.predictor->advance(); }

 protected:
  bool needs_summaries(const Session&) const override { return true; }
  void learn(Session& s, const std::vector<at::Tensor>& gradients) override {
    // Into its own place, where it stays while other steps reuse the memory of this one.
    s.predictor_loss.copy_(s.predictor->learn(*s.summaries, gradients));
  }
  void source(Session& s, const predictor::Context& context,
              predictor::GradientSink& sink) override {
    predicted_gradients(s, context, sink);
  }
};

// wrong-input: adagp whose predictor is fed the batch before. If it does as well as adagp, the
// predictor does not use what it sees.
class WrongInput : public AdaGp {
 public:
  explicit WrongInput(const Session& s) : previous_(at::zeros_like(s.summaries->rows())) {
    int64_t first = 0;
    for (size_t l = 0; l < s.layers.size(); ++l) {
      const int64_t rows = s.layers[l]->info().rows();
      parts_.emplace(s.layers[l]->path(), std::pair(first, rows));
      first += rows;
    }
  }
  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (const auto& [path, part] : parts_) {
      out["previous." + path] = previous_.narrow(0, part.first, part.second);
    }
    return out;
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    for (const auto& [path, part] : parts_) {
      previous_.narrow(0, part.first, part.second).copy_(saved(state, "previous." + path));
    }
  }

 protected:
  void learn(Session& s, const std::vector<at::Tensor>& gradients) override {
    AdaGp::learn(s, gradients);
    previous_.copy_(s.summaries->rows());
  }
  void source(Session& s, const predictor::Context& context,
              predictor::GradientSink& sink) override {
    s.summaries->swap_rows(previous_);
    AdaGp::source(s, context, sink);
    s.summaries->swap_rows(previous_);
    previous_.copy_(s.summaries->rows());
  }

 private:
  at::Tensor previous_;
  std::map<std::string, std::pair<int64_t, int64_t>> parts_;  // by layer: first row and rows
};

// Controls that look at no batch, unless the exact head makes them.
class Blind : public Substitute {
 public:
  explicit Blind(const Session& s) : exact_head_(s.config.head == "exact") {}
  bool cheap_needs_data() const override { return exact_head_; }

 private:
  bool exact_head_;
};

// zero: momentum and decay act, the gradient is 0.
class Zero : public Blind {
 public:
  explicit Zero(const Session& s) : Blind(s) {
    int64_t largest = 0;
    for (const auto* layer : s.layers) largest = std::max(largest, layer->weight.numel());
    zeros_ = at::empty({largest}, s.layers.front()->weight.options().requires_grad(false));
  }

 protected:
  void source(Session& s, const predictor::Context&, predictor::GradientSink& sink) override {
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
  explicit Ema(const Session& s) : Blind(s) {
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
  void learn(Session& s, const std::vector<at::Tensor>& gradients) override {
    const double d = s.config.ema_decay;
    for (size_t l = 0; l < means_.size(); ++l) means_[l].mul_(d).add_(gradients[l], 1.0 - d);
  }
  void source(Session& s, const predictor::Context&, predictor::GradientSink& sink) override {
    for (size_t l = 0; l < s.layers.size(); ++l) {
      // A sink may overwrite what it is given.
      if (sink.wants(l)) sink.accept(l, means_[l].clone());
    }
  }

 private:
  std::vector<at::Tensor> means_;
  std::vector<std::string> paths_;
};

template <typename T>
std::function<std::unique_ptr<Method>(Session&)> maker() {
  return [](Session& s) -> std::unique_ptr<Method> {
    if constexpr (std::is_constructible_v<T, const Session&>) {
      return std::make_unique<T>(s);
    } else {
      return std::make_unique<T>();
    }
  };
}

}  // namespace

const std::vector<MethodEntry>& method_table() {
  static const std::vector<MethodEntry> table{
      {"bp", "plain backprop on every batch", false, false, maker<Backprop>()},
      {"adagp", "ADA-GP: GP batches take predicted gradients", true, true, maker<AdaGp>()},
      {"skip", "control: GP batches are dropped", true, false, maker<Skip>()},
      {"zero", "control: gradient 0 in GP batches; momentum and decay act", true, false,
       maker<Zero>()},
      {"ema", "control: running mean of the true gradients in GP batches", true, false,
       maker<Ema>()},
      {"small-batch", "control: exact backprop on a quarter of each GP batch", true, false,
       maker<SmallBatch>()},
      {"wrong-input", "control: adagp whose predictor is fed the batch before", true, true,
       maker<WrongInput>()},
      {"equal-time", "control: backprop for as long as adagp took, learning rate fully decayed",
       false, false, maker<Backprop>()},
  };
  return table;
}

const MethodEntry& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : method_table()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError("unknown method '" + name + "'" + core::suggestion(name, names));
}

}  // namespace adagp::train
