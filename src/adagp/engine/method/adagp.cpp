// The method of the paper, and its control.

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/adagp.h"
#include "adagp/engine/method/entries.h"

namespace adagp::method {
namespace {

// wrong-input: adagp whose predictor is fed the batch before. If it does as well as adagp, the
// predictor does not use what it sees.
class WrongInput : public AdaGp {
 public:
  explicit WrongInput(const step::Session& s) : previous_(at::zeros_like(s.summaries->rows())) {
    for (size_t l = 0; l < s.layers.size(); ++l) {
      parts_.emplace(s.layers[l]->path(),
                     std::pair(s.summaries->offset(l), s.summaries->rows(l).size(0)));
    }
  }
  void advance(step::Session& s) override {
    if (s.activations) {
      throw UsageError("method wrong-input feeds the summaries of another batch, and predictor '" +
                       s.config.predictor.kind +
                       "' looks at activations; use predictor.kind = shared");
    }
    AdaGp::advance(s);
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
  step::Early early() const override { return step::Early::kNo; }
  void learn(step::Session& s, const std::vector<at::Tensor>& gradients,
             const predictor::Context& context) override {
    AdaGp::learn(s, gradients, context);
    previous_.copy_(s.summaries->rows());
  }
  void source(step::Session& s, const predictor::Context& context,
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

}  // namespace

MethodEntry entries::adagp() {
  return {.name = "adagp",
          .about = "ADA-GP: GP batches take predicted gradients",
          .standing = Standing::kPublished,
          .cheap = Cheap::kScheduled,
          .predicts = true,
          .make = maker<AdaGp>()};
}

MethodEntry entries::wrong_input() {
  return {.name = "wrong-input",
          .about = "adagp whose predictor is fed the batch before",
          .standing = Standing::kControl,
          .cheap = Cheap::kScheduled,
          .predicts = true,
          .make = maker<WrongInput>(),
          .learns_itself = true};
}

}  // namespace adagp::method
