#pragma once
// A term project's predictor: one vector per layer, laid over the gradient again and again.
//
//   rows [C, 1, s, s] -> 4 x (conv 3x3, BN, ReLU), F channels -> max-pool 4x4 -> FC to N outputs
//   -> mean over the layer's filters -> [N]
//
// A gradient longer than N repeats the vector; what is left at its end is filled with the vector's
// last value (tail = last) or goes on cyclically; a shorter one takes the vector's head.

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

  void advance(int64_t batch) override { net_.advance(batch); }
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

  struct Block {
    at::Tensor weight, gain, shift, mean, variance;
  };
  std::vector<nn::WeightLayer*> layers_;
  Config config_;
  bool cyclic_tail_;
  TrainedNet net_;
  RunningRms rms_;
  std::vector<Block> blocks_;
  at::Tensor fc_weight_, fc_bias_;
};

}  // namespace adagp::predictor
