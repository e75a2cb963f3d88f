#pragma once
// Direct feedback: the error at a layer's output is a linear function of the error at the network's
// output, whatever lies between.
//
//   delta_l = c V_l      c [B, classes]: made of the errors e;  V_l [classes, one example's output]
//
// The weight gradient is then exact from the layer's input. The last layer's delta is e itself.
// Memory: classes x (all activations of one example), and what Activations keeps.
//
// Feedback alignment proper (Lillicrap et al. 2016) is not here: it needs a whole backward pass
// through other weights and saves nothing.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"

namespace adagp::predictor {

class Feedback : public Predictor {
 public:
  Feedback(const std::vector<nn::WeightLayer*>& layers, const Config& config);

  Needs needs() const override { return {.inputs = true, .deltas = true}; }
  void advance(int64_t) override {}
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override;
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override;
  double macs(int64_t examples) const override;
  double learning_macs(int64_t examples) const override;

 protected:
  // Of a layer that is not the last: its delta is coefficients(errors) times feedback(layer).
  virtual at::Tensor coefficients(const at::Tensor& errors) const = 0;  // [B, classes]
  virtual at::Tensor feedback(size_t layer, int64_t width) = 0;         // [classes, width]
  virtual at::Tensor gradient(size_t layer, const at::Tensor& input, const at::Tensor& c,
                              const at::Tensor& feedback, const std::vector<int64_t>& shape) const;
  // The V_l with which delta = e V_l, and what a BP batch tells about a layer: returns e^T delta.
  virtual at::Tensor matrix(size_t layer, int64_t width) = 0;
  virtual at::Tensor see(size_t layer, const at::Tensor& errors, const at::Tensor& deltas) = 0;
  virtual void see(const at::Tensor& errors) = 0;  // last of a batch

  // Of one layer that is not the last.
  virtual double layer_macs(size_t layer, int64_t examples) const;

  std::vector<nn::WeightLayer*> layers_;
  Config config_;
  int64_t classes_;
  struct Sizes {
    int64_t input = 0, output = 0;  // numbers of one example; 0 before the first batch
  };
  std::vector<Sizes> sizes_;
  double products(size_t layer) const;  // multiplications of the layer for one example

 private:
  at::Tensor input_of(size_t layer, const Context& context, int64_t examples);
};

}  // namespace adagp::predictor
