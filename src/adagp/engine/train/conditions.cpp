#include "adagp/engine/train/conditions.h"

#include <algorithm>
#include <string_view>

namespace adagp::train {
namespace {

// Keys that say which problem is solved or how its answers are measured, beside those that
// Conditions and Summary name. Sizes of data and images show in the numbers of examples and in the
// input.
constexpr std::string_view kKeys[] = {"model.width_divisor",  "model.width",
                                      "model.heads",          "model.hidden",
                                      "model.encoder_layers", "model.decoder_layers",
                                      "data.synthetic_seed",  "data.synthetic_noise",
                                      "data.voc_train",       "data.voc_test",
                                      "data.bad_boxes",       "detection.confidence",
                                      "detection.nms",        "translation.source",
                                      "translation.target",   "translation.test",
                                      "translation.longest",  "translation.min_frequency",
                                      "translation.beam",     "translation.length_penalty"};

}  // namespace

report::Conditions conditions_of(const config::RunConfig& config, const task::Task& task) {
  report::Conditions out;
  out.data_limit = config.data.limit;
  out.data_test_limit = config.data.test_limit;
  out.train_examples = task.train_size();
  out.test_examples = task.test_size();
  out.input = task.input_name(config);
  out.from_weights = !config.weights.empty();
  config::RunConfig given = config, usual;
  core::Binding ours, defaults;
  bind(ours, given);
  bind(defaults, usual);
  const auto changed = ours.differences(defaults);
  for (const auto& field : ours.fields()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), field.key) == std::end(kKeys)) continue;
    if (std::find(changed.begin(), changed.end(), field.key) == changed.end()) continue;
    out.settings[field.key] = core::Binding::value_text(field);
  }
  return out;
}

}  // namespace adagp::train
