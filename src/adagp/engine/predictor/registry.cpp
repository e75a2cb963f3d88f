#include "adagp/base/core/duration.h"
#include "adagp/base/core/lookup.h"
#include "adagp/engine/predictor/entries.h"
#include "adagp/engine/predictor/other_input.h"

namespace adagp::predictor {

namespace {

std::vector<Entry>& entries_of_all() {
#define ADAGP_LIST(name) entries::name(),
  static std::vector<Entry> table{ADAGP_PREDICTORS(ADAGP_LIST)};
#undef ADAGP_LIST
  return table;
}

const Entry& find_kind(const std::string& kind) {
  return core::find_named(registry(), kind, "predictor.kind: unknown predictor");
}

}  // namespace

const std::vector<Entry>& registry() {
  return entries_of_all();
}

void add(Entry entry) {
  core::add_named(entries_of_all(), std::move(entry), "predictor");
}

void check(const Config& config) {
  find_kind(config.kind);
  for (const auto& milestone : config.milestones) core::Duration::parse(milestone);
}

SummaryForm summary_form(const Config& config) {
  const Entry& entry = find_kind(config.kind);
  return entry.form ? entry.form(config) : SummaryForm{config.summary};
}

std::unique_ptr<Predictor> make_predictor(const std::vector<nn::WeightLayer*>& layers,
                                          const Config& config, uint64_t seed,
                                          int64_t batches_per_epoch, const PredictorSync& sync) {
  auto made = find_kind(config.kind).make(layers, config, seed, batches_per_epoch, sync);
  if (config.input == "activations") return made;
  return with_other_input(std::move(made), config.input, layers, summary_form(config));
}

}  // namespace adagp::predictor
