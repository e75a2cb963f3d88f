#pragma once
// The shared predictor on a GPU in bf16: features, prediction with the optimizer in its epilogue,
// and training, each a few launches for all layers together.
//
// The kernels' sizes are fixed at 16 channels. A predictor with fewer is padded with channels of
// zeros, which stay zero: their features are zero, so no gradient reaches them, and Adam does not
// move what never had one.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/engine/predictor/trained_net.h"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::predictor {

class SharedKernels {
 public:
  // Whether the kernels serve these layers with these options: a GPU they run on, weights with bf16
  // copies, summaries of 8x8 pooled to 4x4 after the convolution, at most 16 channels, one joint
  // step.
  static bool serve(const std::vector<nn::WeightLayer*>& layers, const Config& config);

  SharedKernels(const std::vector<nn::WeightLayer*>& layers, TrainedNet& net, RunningRms& rms);

  // Moves the weights of the layers that `sink` wants; false when it is not an optimizer of ours.
  bool predict(const Summaries& summaries, const GradientSink& sink);
  // One training step; false when a gradient is not in a form the kernels take.
  bool learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
             at::Tensor& loss);
  // Own parameters and moments from those of the TrainedNet, and back.
  void pull();
  void push();
  // Puts them in the place of the TrainedNet's in its state().
  void replace_in(std::map<std::string, at::Tensor>& state) const;

 private:
  // One parameter of the predictor: the kernels' padded tensors, and the view of the true size.
  struct Own {
    std::string name;
    at::Tensor weight, first, second, steps;
    at::Tensor inner(const at::Tensor& padded, at::IntArrayRef shape) const;
    cuda::ParamSlot slot() const;
  };
  // visit(own tensor, the one in the state of the TrainedNet), of equal shapes.
  template <typename Visit>
  void for_each(std::map<std::string, at::Tensor>& state, const Visit& visit) const;

  void take_features(const Summaries& summaries, int64_t first_row, int64_t rows, bool behind_pool);
  cuda::PredictedLayer place(const Summaries& summaries, size_t layer) const;

  std::vector<nn::WeightLayer*> layers_;
  TrainedNet* trained_;
  RunningRms* rms_;
  Own conv_weight_, conv_bias_, fc_weight_, fc_bias_;
  cuda::PredictorNet net_;
  at::Tensor fc_low_;    // bf16 [widest, 256]
  at::Tensor features_;  // bf16 [rows, 256]
  at::Tensor seen_;      // u8 [1]: the running norms have a first value
  at::Tensor loss_;      // float [1]
};

}  // namespace adagp::predictor
