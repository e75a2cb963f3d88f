#include "adagp/rivals/predictor/dfa.h"

#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::predictor {

DfaPredictor::DfaPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                           uint64_t, int64_t, const PredictorSync&)
    : Feedback(layers, config),
      fit_(names_but_last(layers), classes_, rivals::options_of(config).forget,
           rivals::options_of(config).ridge, predictor_options(layers)) {}

Entry entries::dfa() {
  return {"dfa", "deltas linear in the output's error, fitted to the true ones; exact otherwise",
          maker<DfaPredictor>()};
}

}  // namespace adagp::predictor
