#pragma once
// Several processes may each hold a part of the network's layers: the predictor is one all the
// same, with copies that stay equal because all of them learn from everybody's layers.

#include <functional>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::predictor {

struct PredictorSync {
  std::vector<nn::WeightLayer*> all = {};  // layers of the network; empty: those given are all
  // Adds up over the processes, in place, counting every layer once; empty: alone.
  std::function<void(std::vector<at::Tensor>&)> sum = {};
};

}  // namespace adagp::predictor
