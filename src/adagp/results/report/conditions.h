#pragma once
// What a score is, and under which conditions it was reached: without them two scores cannot be
// compared.

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace adagp::report {

// What the score is.
struct Metric {
  std::string name = "top1";    // in JSON and CSV: "top1_mean"
  std::string label = "top-1";  // for people
  bool percent = true;
};
// By the names that figures have in files: "top1" -> {"top1", "top-1", percent}. A figure of the
// user's own is shown by its name, and is no percentage.
Metric metric_named(const std::string& name);

struct Conditions {
  int64_t data_limit = 0, data_test_limit = 0;  // data.limit, data.test_limit; 0 = all
  int64_t train_examples = 0, test_examples = 0;
  std::string input;          // "32x32", "tokens:16,16"
  bool from_weights = false;  // begun from a weights file instead of random weights
  // Other keys that change what a score means and are not at their defaults, values as TOML.
  std::map<std::string, std::string> settings;

  // "500 training and 100 test examples of 32x32, data.limit = 500"; empty when nothing is known.
  std::string text() const;
  // {"data_limit", "data_test_limit", "train_examples", "test_examples", "input", "from_weights",
  // "settings": {key: value}}, and back; what is missing, as in older files, stays as it is.
  nlohmann::json to_json() const;
  static Conditions read(const nlohmann::json& json);
};

}  // namespace adagp::report
