#include "adagp/core/duration.h"
#include "adagp/core/lookup.h"
#include "adagp/predictor/dfa.h"
#include "adagp/predictor/dfa_random.h"
#include "adagp/predictor/dni.h"
#include "adagp/predictor/head_ridge.h"
#include "adagp/predictor/predictor.h"
#include "adagp/predictor/remap.h"
#include "adagp/predictor/shared.h"
#include "adagp/predictor/vt.h"

namespace adagp::predictor {

namespace {

template <typename T>
auto predictor_maker() {
  return [](const std::vector<nn::WeightLayer*>& layers, const Config& config, uint64_t seed,
            int64_t per_epoch, const PredictorSync& sync) {
    return std::unique_ptr<Predictor>(std::make_unique<T>(layers, config, seed, per_epoch, sync));
  };
}

}  // namespace

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table{
      {"shared", "the paper's: one small conv + FC for all layers, one row per filter",
       predictor_maker<SharedPredictor>()},
      {"remap", "a term project's: four convs + FC to one vector, repeated over the gradient",
       predictor_maker<RemapPredictor>()},
      {"dfa", "deltas linear in the output's error, fitted to the true ones; exact otherwise",
       predictor_maker<DfaPredictor>()},
      {"dfa-random", "the same with fixed random feedback, its length fitted",
       predictor_maker<DfaRandomPredictor>()},
      {"vt", "dfa on one virtual example a class: the batch summed up by its errors",
       predictor_maker<VtPredictor>()},
      {"dni", "a small network for each layer guesses the delta from its output (and the label)",
       predictor_maker<DniPredictor>()},
      {"head-ridge", "gradients fitted to the exact gradient of the head",
       predictor_maker<HeadRidgePredictor>()},
  };
  return table;
}

namespace {

const Entry& find_kind(const std::string& kind) {
  return core::find_named(registry(), kind, "predictor.kind: unknown predictor");
}

}  // namespace

void check(const Config& config) {
  find_kind(config.kind);
  for (const auto& milestone : config.milestones) core::Duration::parse(milestone);
}

std::unique_ptr<Predictor> make_predictor(const std::vector<nn::WeightLayer*>& layers,
                                          const Config& config, uint64_t seed,
                                          int64_t batches_per_epoch, const PredictorSync& sync) {
  return find_kind(config.kind).make(layers, config, seed, batches_per_epoch, sync);
}

}  // namespace adagp::predictor
