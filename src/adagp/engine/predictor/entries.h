#pragma once
// One entry for each predictor of this folder, in the order of 'adagp list predictors'. A new
// predictor is a file that defines its entry, and its name in this list.

#include <memory>

#include "adagp/engine/predictor/predictor.h"

#define ADAGP_PREDICTORS(entry) entry(shared)

namespace adagp::predictor::entries {

#define ADAGP_DECLARE(name) Entry name();
ADAGP_PREDICTORS(ADAGP_DECLARE)
#undef ADAGP_DECLARE

template <typename T>
auto maker() {
  return [](const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
            int64_t batches_per_epoch, const PredictorSync& sync) {
    return std::unique_ptr<Predictor>(
        std::make_unique<T>(layers, config, seed, batches_per_epoch, sync));
  };
}

}  // namespace adagp::predictor::entries
