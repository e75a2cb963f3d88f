#pragma once
// Direct feedback with fixed random matrices, drawn from the seed when a layer is first seen. Their
// length is learnt: deltas have on average the norm that the true ones have on BP batches, and zero
// before the first. Feedback alignment on all batches is modules.signal = feedback.

#include <map>
#include <string>
#include <vector>

#include "adagp/rivals/predictor/feedback.h"

namespace adagp::predictor {

class DfaRandomPredictor : public Feedback {
 public:
  DfaRandomPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                     uint64_t seed, int64_t batches_per_epoch, const PredictorSync& sync = {});

  // The seed stands for the feedback.
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  int64_t parameter_count() const override;

 protected:
  at::Tensor coefficients(const at::Tensor& errors) const override;
  at::Tensor feedback(size_t layer, int64_t width) override;
  at::Tensor matrix(size_t layer, int64_t width) override { return feedback(layer, width); }
  at::Tensor see(size_t layer, const at::Tensor& errors, const at::Tensor& deltas) override;
  void see(const at::Tensor& errors) override;

 private:
  struct Drawn {
    at::Tensor matrix;  // [classes, width]
    at::Tensor gram;    // double [classes, classes]: of its rows
  };
  Drawn& drawn(size_t layer, int64_t width);

  uint64_t seed_;
  at::TensorOptions options_;
  std::vector<Drawn> drawn_;
  // Of BP batches, with forgetting, in double: |e V|^2 is <errors_, gram>.
  at::Tensor errors_;  // sum of e^T e, [classes, classes]
  at::Tensor norms_;   // sums of |delta|^2, [layers]
};

}  // namespace adagp::predictor
