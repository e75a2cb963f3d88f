#include "adagp/core/duration.h"
#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/predictor/predictor.h"
#include "adagp/predictor/remap.h"
#include "adagp/predictor/shared.h"

namespace adagp::predictor {

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table{
      {"shared", "the paper's: one small conv + FC for all layers, one row per filter",
       [](const auto& layers, const Config& config, uint64_t seed, int64_t per_epoch,
          const Company& company) {
         return std::unique_ptr<Predictor>(
             std::make_unique<SharedPredictor>(layers, config, seed, per_epoch, company));
       }},
      {"remap", "a term project's: four convs + FC to one vector, repeated over the gradient",
       [](const auto& layers, const Config& config, uint64_t seed, int64_t per_epoch,
          const Company& company) {
         return std::unique_ptr<Predictor>(
             std::make_unique<RemapPredictor>(layers, config, seed, per_epoch, company));
       }},
  };
  return table;
}

namespace {

const Entry& find_kind(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : registry()) {
    if (entry.name == kind) return entry;
    names.push_back(entry.name);
  }
  throw UsageError("predictor.kind: unknown predictor '" + kind + "'" +
                   core::suggestion(kind, names));
}

}  // namespace

void check(const Config& config) {
  find_kind(config.kind);
  for (const auto& milestone : config.milestones) core::Duration::parse(milestone);
}

std::unique_ptr<Predictor> make_predictor(const std::vector<nn::WeightLayer*>& layers,
                                          const Config& config, uint64_t seed,
                                          int64_t batches_per_epoch, const Company& company) {
  return find_kind(config.kind).make(layers, config, seed, batches_per_epoch, company);
}

}  // namespace adagp::predictor
