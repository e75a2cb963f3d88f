// The smallest predictor that could work: two fully connected layers, shared by all layers.
//
//   rows [R, s*s] -> FC to `mlp_hidden` -> ReLU -> FC -> widest layer

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/engine/predictor/shared.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::predictor {
namespace {

SharedPredictor::Front make_hidden_layer(const Config& config, TrainedNet& net) {
  const int64_t inputs = config.summary * config.summary,
                hidden = rivals::options_of(config).mlp_hidden;
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  const at::Tensor weight = net.parameter("hidden.weight", {hidden, inputs}, bound);
  const at::Tensor bias = net.parameter("hidden.bias", {hidden}, bound);
  const auto run = [weight, bias](const at::Tensor& rows) {
    return at::relu(at::linear(rows, weight, bias));
  };
  return {hidden, hidden * inputs, run};
}

}  // namespace

Entry entries::mlp() {
  return {"mlp", "ablation: two fully connected layers for all layers, one row per filter",
          [](const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
             int64_t batches_per_epoch, const PredictorSync& sync) {
            return std::unique_ptr<Predictor>(std::make_unique<SharedPredictor>(
                layers, config, seed, batches_per_epoch, sync, make_hidden_layer));
          }};
}

}  // namespace adagp::predictor
