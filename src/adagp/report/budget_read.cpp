// budget.json back to the report it was written from.

#include <cmath>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/message.h"
#include "adagp/core/text.h"
#include "adagp/report/budget.h"
#include "adagp/report/metric.h"

namespace adagp::report {
namespace {

double number_or_nan(const nlohmann::json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

// The batch size whose backprop has the targets' scores: budget.json names the lengths alone.
int64_t target_batch(const nlohmann::json& json, const std::string& mean) {
  for (const auto& target : json.at("targets")) {
    for (const auto& row : json.at("rows")) {
      const bool named =
          target.at("target") == core::cat("bp ", row.at("epochs").get<int64_t>(), " ep");
      if (row.at("method") == "bp" && named && row.at(mean) == target.at("score")) {
        return row.at("batch").get<int64_t>();
      }
    }
  }
  return 0;
}

std::vector<int64_t> target_lengths(const nlohmann::json& json) {
  std::vector<int64_t> out;
  std::set<std::string> seen;
  for (const auto& target : json.at("targets")) {
    const auto name = target.at("target").get<std::string>();
    long long epochs = 0;
    if (!seen.insert(name).second || name.size() < 7) continue;
    if (core::parse_integer(name.substr(3, name.size() - 6), epochs)) out.push_back(epochs);
  }
  return out;
}

}  // namespace

BudgetReport read_budget(const std::string& text, const std::string& name) {
  try {
    const auto json = nlohmann::json::parse(text);
    const Metric metric = metric_named(json.at("metric").get<std::string>());
    std::vector<BudgetRun> runs;
    for (const auto& one : json.at("runs")) {
      BudgetRun run;
      one.at("method").get_to(run.method);
      one.at("batch").get_to(run.batch);
      one.at("epochs").get_to(run.epochs);
      one.at("seed").get_to(run.seed);
      run.score = number_or_nan(one.at(metric.name));
      run.cost = number_or_nan(one.at("cost"));
      run.seconds = number_or_nan(one.at("seconds"));
      runs.push_back(run);
    }
    BudgetReport report = budget_report(runs, metric, target_batch(json, metric.name + "_mean"),
                                        target_lengths(json));
    json.at("about").get_to(report.about);
    report.conditions = Conditions::read(json.at("conditions"));
    json.at("notes").get_to(report.notes);
    return report;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(name + ": not a comparison by budget: " + core::plain_message(error));
  } catch (const DataError&) {
    throw;
  } catch (const Error& error) {
    throw DataError(name + ": not a comparison by budget: " + error.what());
  }
}

}  // namespace adagp::report
