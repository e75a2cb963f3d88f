#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/predictor/predictor.h"
#include "adagp/predictor/remap.h"
#include "adagp/predictor/shared.h"

namespace adagp::predictor {

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table{
      {"shared", "the paper's: one small conv + FC for all layers, one row per filter",
       [](const auto& layers, const Config& config, uint64_t seed, int64_t per_epoch) {
         return std::unique_ptr<Predictor>(
             std::make_unique<SharedPredictor>(layers, config, seed, per_epoch));
       }},
      {"remap", "a term project's: four convs + FC to one vector, repeated over the gradient",
       [](const auto& layers, const Config& config, uint64_t seed, int64_t per_epoch) {
         return std::unique_ptr<Predictor>(
             std::make_unique<RemapPredictor>(layers, config, seed, per_epoch));
       }},
  };
  return table;
}

std::unique_ptr<Predictor> make_predictor(const std::vector<nn::WeightLayer*>& layers,
                                          const Config& config, uint64_t seed,
                                          int64_t batches_per_epoch) {
  std::vector<std::string> names;
  for (const auto& entry : registry()) {
    if (entry.name == config.kind) return entry.make(layers, config, seed, batches_per_epoch);
    names.push_back(entry.name);
  }
  throw UsageError("predictor.kind: unknown predictor '" + config.kind + "'" +
                   core::suggestion(config.kind, names));
}

}  // namespace adagp::predictor
