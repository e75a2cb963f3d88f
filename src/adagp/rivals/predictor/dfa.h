#pragma once
// Direct feedback alignment (Noekland 2016) whose feedback is learnt: V_l is fitted on BP batches
// to the true deltas, by ridge regression with forgetting (ridge.h).

#include <map>
#include <string>
#include <vector>

#include "adagp/rivals/predictor/feedback.h"
#include "adagp/rivals/predictor/ridge.h"

namespace adagp::predictor {

class DfaPredictor : public Feedback {
 public:
  DfaPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
               int64_t batches_per_epoch, const PredictorSync& sync = {});

  std::map<std::string, at::Tensor> state() const override { return fit_.state(); }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    fit_.load_state(state);
  }
  int64_t parameter_count() const override { return fit_.count(); }

 protected:
  // e (A + ...)^-1 times B_l instead of e times V_l: the large V_l is never made.
  at::Tensor coefficients(const at::Tensor& errors) const override {
    return fit_.coefficients(errors);
  }
  at::Tensor feedback(size_t layer, int64_t width) override { return fit_.cross(layer, width); }
  at::Tensor matrix(size_t layer, int64_t width) override { return fit_.fitted(layer, width); }
  at::Tensor see(size_t layer, const at::Tensor& errors, const at::Tensor& deltas) override {
    return fit_.observe(layer, errors, deltas);
  }
  void see(const at::Tensor& errors) override { fit_.observe(errors); }

 private:
  Ridge fit_;
};

}  // namespace adagp::predictor
