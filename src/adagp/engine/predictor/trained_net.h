#pragma once
// Parameters of a predictor's network with their Adam, learning-rate stairs and saved state.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/config/predictor_options.h"
#include "adagp/base/schedule/policy.h"
#include "adagp/engine/optim/optimizer.h"
#include "adagp/engine/predictor/predictor_sync.h"

namespace adagp::predictor {

class TrainedNet {
 public:
  TrainedNet(const Config& config, int64_t batches_per_epoch, at::TensorOptions options,
             uint64_t seed, PredictorSync sync = {});

  // Creates a parameter drawn uniformly from +-bound (PyTorch's default for layers is 1/sqrt(fan)).
  at::Tensor parameter(const std::string& name, at::IntArrayRef shape, double bound);
  // The same filled with a constant.
  at::Tensor constant(const std::string& name, at::IntArrayRef shape, double value);
  // Ends construction: builds the optimizer over the parameters made so far.
  void finish();

  // Sets the rate of a step that is made at this batch of the run: that of the stairs times
  // `share`.
  void advance(int64_t batch, double share = 1);
  // One Adam step from the parameters' .grad, which is cleared; with other processes from the sum
  // of everybody's. `loss` is summed alike.
  void step(at::Tensor& loss);
  const optim::Optimizer& optimizer() const { return *optimizer_; }

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);
  int64_t parameter_count() const;

 private:
  Config config_;
  PredictorSync sync_;
  at::TensorOptions options_;
  at::Generator generator_;
  std::unique_ptr<schedule::Policy> policy_;
  std::vector<optim::Param> params_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace adagp::predictor
