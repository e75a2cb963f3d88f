#pragma once
// The paper's predictor: one small network for all layers.
//
//   rows [R, 1, s, s] -> conv 3x3, 1 -> F -> ReLU -> average-pool to p x p -> FC F*p*p -> widest
//   layer
//
// (order = pool-conv, Fig. 6 of the paper: the rows are pooled before the convolution.)
//
// R counts the filters of all layers: the features are computed for all of them at once. A layer
// with n weights per filter uses the first n outputs of the FC and never computes the others.
//
// A BP batch is one step of the optimizer for the mean of the layers' losses. With steps =
// per-layer (Fig. 5b) it is one for each layer's loss, in the order of a backward pass; what is
// predicted for a layer is computed with the parameters that the step before it left.
//
// What is before the FC is the `front`, of which another kind may have another.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adagp/engine/predictor/predictor.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/engine/predictor/shared_kernels.h"
#include "adagp/engine/predictor/trained_net.h"

namespace adagp::predictor {

class SharedPredictor : public Predictor {
 public:
  struct Front {
    int64_t features;                                       // numbers it makes of a row
    int64_t macs;                                           // multiplications for a row
    std::function<at::Tensor(const at::Tensor& rows)> run;  // [R, s*s] -> [R, features]
  };
  // Creates its parameters.
  using MakeFront = std::function<Front(const Config&, TrainedNet&)>;

  SharedPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
                  int64_t batches_per_epoch, const PredictorSync& sync = {});
  // Without kernels, which know the convolution alone.
  SharedPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
                  int64_t batches_per_epoch, const PredictorSync& sync,
                  const MakeFront& make_front);

  void advance(int64_t batch) override { net_.advance(batch); }
  at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const Context& context) override;
  bool predicts_early() const override { return kernels_.has_value(); }
  void predict(const Summaries& summaries, const Context& context, GradientSink& sink) override;
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  int64_t parameter_count() const override { return net_.parameter_count(); }
  double macs(int64_t examples) const override;

 private:
  // One step of the optimizer for the losses of layers first .. end - 1, in the mean over `of`
  // layers. Their part of the mean over all layers is added to `loss`.
  void step_for(const Summaries& summaries, const std::vector<at::Tensor>& gradients, size_t first,
                size_t end, size_t of, at::Tensor& loss);

  std::vector<nn::WeightLayer*> layers_;
  size_t all_layers_;  // of the network, here and elsewhere
  Config config_;
  TrainedNet net_;
  RunningRms rms_;
  Front front_;
  at::Tensor fc_weight_, fc_bias_;  // [widest, features], [widest]
  at::Tensor scratch_;              // one layer's gradient: the largest rows*cols
  std::optional<SharedKernels> kernels_;
};

}  // namespace adagp::predictor
