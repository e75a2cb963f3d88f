#include "adagp/results/report/conditions.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/text.h"

namespace adagp::report {

Metric metric_named(const std::string& name) {
  static const Metric kKnown[] = {{"top1", "top-1", true},
                                  {"top5", "top-5", true},
                                  {"accuracy", "accuracy", true},
                                  {"map50", "mAP", true},
                                  {"map50_11", "mAP (11 points)", true},
                                  {"class_accuracy", "class accuracy", true},
                                  {"object_recall", "objects seen", true},
                                  {"bleu", "BLEU", false}};
  for (const Metric& metric : kKnown) {
    if (metric.name == name) return metric;
  }
  return {name, name, false};
}

std::string Conditions::text() const {
  if (test_examples == 0) return "";
  std::vector<std::string> parts{core::cat(train_examples, " training and ", test_examples,
                                           " test examples", input.empty() ? "" : " of ", input)};
  if (from_weights) parts.emplace_back("begun from a weights file");
  if (data_limit > 0) parts.push_back(core::cat("data.limit = ", data_limit));
  if (data_test_limit > 0) parts.push_back(core::cat("data.test_limit = ", data_test_limit));
  for (const auto& [key, value] : settings) parts.push_back(core::cat(key, " = ", value));
  return core::join(parts, ", ");
}

nlohmann::json Conditions::to_json() const {
  return {{"data_limit", data_limit},
          {"data_test_limit", data_test_limit},
          {"train_examples", train_examples},
          {"test_examples", test_examples},
          {"input", input},
          {"from_weights", from_weights},
          {"settings", settings}};
}

Conditions Conditions::read(const nlohmann::json& json) {
  Conditions out;
  const auto take = [&](const char* key, auto& value) {
    if (json.contains(key)) core::read_field(json, key, value);
  };
  take("data_limit", out.data_limit);
  take("data_test_limit", out.data_test_limit);
  take("train_examples", out.train_examples);
  take("test_examples", out.test_examples);
  take("input", out.input);
  take("from_weights", out.from_weights);
  take("settings", out.settings);
  return out;
}

}  // namespace adagp::report
