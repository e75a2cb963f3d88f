#pragma once
// Decoupled neural interfaces (Jaderberg et al. 2017): every layer has a small network of its own
// that guesses the delta from the layer's output y, pixel by pixel.
//
//   delta / rms = W2 relu(W1 y + b1) + b2 [+ U[label]]
//
// C -> hidden -> C features; U [classes, C] is the same for all pixels of an example. W2, b2 and U
// begin with zeros. Trained on BP batches by the mean squared error, averaged over layers, against
// the true delta / its running RMS, one Adam step a batch. The weight gradient is exact from the
// layer's input. The last layer's delta is the error at the network's output.
//
// Memory: 2 C hidden + classes C numbers a layer, twice more for Adam, and what Activations keeps.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/engine/predictor/trained_net.h"

namespace adagp::predictor {

class DniPredictor : public Predictor {
 public:
  DniPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
               int64_t batches_per_epoch, const PredictorSync& sync = {});

  Needs needs() const override { return {.inputs = true, .outputs = true, .deltas = true}; }
  void advance(int64_t batch) override { net_.advance(batch); }
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override;
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override;
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  int64_t parameter_count() const override { return net_.parameter_count(); }
  double macs(int64_t examples) const override;
  double learning_macs(int64_t examples) const override;

 private:
  struct Guess {
    at::Tensor w1, b1, w2, b2, label;  // label: undefined when it is not told
  };
  // The labels as rows [B, classes] of zeros and a one; undefined when they are not told.
  at::Tensor told(const Context& context) const;
  // delta / rms of one layer, [B, pixels, C].
  at::Tensor guess(size_t layer, const at::Tensor& output, const at::Tensor& labels) const;

  std::vector<nn::WeightLayer*> layers_;
  Config config_;
  int64_t classes_;
  TrainedNet net_;
  RunningRms rms_;
  std::vector<Guess> guesses_;  // but of the last layer
  std::vector<double> pixels_;  // of one example's output, 0 before the first batch
};

}  // namespace adagp::predictor
