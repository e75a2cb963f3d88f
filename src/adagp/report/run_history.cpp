#include "adagp/report/run_history.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::report {
namespace {

double number_in(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// docs/run-folder.md: cosine, relative error, norm ratio, R2, MSE, MAPE, q, bias.
LayerProbe probe_of(const nlohmann::json& values) {
  return {number_in(values.at(0)), number_in(values.at(4)), number_in(values.at(5)),
          number_in(values.at(1))};
}

}  // namespace

std::vector<EpochHistory> read_history(const core::fs::path& metrics) {
  std::vector<EpochHistory> out;
  EpochHistory now;
  double seconds_before = 0;
  int64_t line_number = 0;
  for (const std::string& line : core::split(core::read_file(metrics), '\n')) {
    ++line_number;
    if (core::trim(line).empty()) continue;
    try {
      const nlohmann::json record = nlohmann::json::parse(line);
      const std::string kind = record.at("kind");
      if (kind == "train") {
        if (record.contains("predictor_loss"))
          now.predictor_loss = number_in(record["predictor_loss"]);
        if (record.contains("probes")) {
          now.layers.clear();
          for (const auto& layer : record["probes"]) now.layers.push_back(probe_of(layer));
        }
      } else if (kind == "epoch") {
        now.epoch = record.at("epoch");
        now.train_loss = number_in(record.at("train_loss"));
        now.test_loss = number_in(record.at("test_loss"));
        const double seconds = number_in(record.at("train_seconds"));
        now.seconds = seconds - seconds_before;
        seconds_before = seconds;
        out.push_back(now);
        now = {};
      }
    } catch (const nlohmann::json::exception& error) {
      throw DataError(
          core::cat(metrics.string(), ":", line_number, ": not a record of a run: ", error.what()));
    }
  }
  return out;
}

}  // namespace adagp::report
