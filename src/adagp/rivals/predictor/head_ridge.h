#pragma once
// What the head's gradient says about the others: it is exact without a backward pass, and every
// other layer's gradient is fitted to it.
//
//   f = [P vec(head gradient), 1],  P random and fixed, r numbers;   gradient_l ~ f M_l
//
// M_l by ridge regression with forgetting on BP batches, one sample a batch; the constant lets it
// fall back on the mean gradient. Memory: (r + 1) numbers for every weight.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"
#include "adagp/rivals/predictor/ridge.h"

namespace adagp::predictor {

class HeadRidgePredictor : public Predictor {
 public:
  HeadRidgePredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                     uint64_t seed, int64_t batches_per_epoch, const PredictorSync& sync = {});

  Needs needs() const override { return {.inputs = true, .last_only = true}; }
  void advance(int64_t) override {}
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override;
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override;
  // The seed stands for P.
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  int64_t parameter_count() const override { return fit_.count() + projection_.numel(); }
  double macs(int64_t examples) const override;
  double learning_macs(int64_t examples) const override { return 2 * macs(examples); }

 private:
  at::Tensor head_gradient(const Context& context) const;
  at::Tensor features(const at::Tensor& head) const;  // [1, r + 1]
  void draw();

  std::vector<nn::WeightLayer*> layers_;
  Config config_;
  uint64_t seed_;
  at::Tensor projection_;  // [weights of the head, r]
  Ridge fit_;
};

}  // namespace adagp::predictor
