#pragma once
// The predictor of a student reproduction of ADA-GP (a term project): one vector per layer, laid
// over the gradients of its weight and of its bias.
//
//   rows [R, 1, 4, 4] -> 4 x (conv 3x3 to F channels, BN, ReLU) -> FC 16 F to N outputs
//   -> mean over the rows -> [N]
//
// The rows are max-pooled (predictor/summaries.h): of a convolution the batch mean of each channel,
// of a linear layer one image, batch x features.
//
// A gradient longer than N repeats the vector; what is left at its end is filled with the vector's
// last value (tail = last) or goes on cyclically; a shorter one takes the vector's head. Gradients
// are numbered as PyTorch does ([out, in, kh, kw]), not as they lie in memory.
//
// The loss is the sum over weights and biases of the mean squared error, one Adam step a BP batch.
// Adam's rate falls with the network's where policy.name = plateau. In a GP batch the norms use
// their running statistics.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/engine/predictor/trained_net.h"

namespace adagp::predictor {

class RemapPredictor : public Predictor {
 public:
  RemapPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
                 int64_t batches_per_epoch, const PredictorSync& sync = {});

  void follow_plateau(double share) override { plateau_ = share; }
  void advance(int64_t batch) override { net_.advance(batch, plateau_); }
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override;
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override;
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  int64_t parameter_count() const override { return net_.parameter_count(); }
  double macs(int64_t examples) const override;

 private:
  at::Tensor vector_of(const at::Tensor& rows, bool training);  // [N]
  at::Tensor spread(const at::Tensor& vector, int64_t length) const;
  // The mean squared error of the vector laid over a true gradient. `scale`: index in rms_.
  at::Tensor error(const at::Tensor& vector, const at::Tensor& gradient, size_t scale);
  // Of the layer's bias in rms_; its weight has the layer's own.
  size_t bias_scale(size_t layer) const { return layers_.size() + layer; }

  struct Block {
    at::Tensor weight, gain, shift, mean, variance;
  };
  std::vector<nn::WeightLayer*> layers_;
  bool cyclic_tail_;
  double plateau_ = 1;
  TrainedNet net_;
  RunningRms rms_;
  std::vector<Block> blocks_;
  at::Tensor fc_weight_, fc_bias_;
};

}  // namespace adagp::predictor
