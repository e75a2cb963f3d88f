// budget.json back to the report it was written from.

#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/conditions.h"

namespace adagp::report {
namespace {

double number_or_nan(const nlohmann::json& json, const std::string& key) {
  if (json.at(key).is_null()) return std::numeric_limits<double>::quiet_NaN();
  return core::json_field<double>(json, key.c_str());
}

// The batch size whose backprop has the targets' scores: budget.json names the lengths alone.
int64_t target_batch(const nlohmann::json& json, const std::string& mean) {
  for (const auto& target : json.at("targets")) {
    for (const auto& row : json.at("rows")) {
      const bool named =
          target.at("target") == core::cat("bp ", core::json_field<int64_t>(row, "epochs"), " ep");
      if (row.at("method") == "bp" && named && row.at(mean) == target.at("score")) {
        return core::json_field<int64_t>(row, "batch");
      }
    }
  }
  return 0;
}

std::vector<int64_t> target_lengths(const nlohmann::json& json) {
  std::vector<int64_t> out;
  std::set<std::string> seen;
  for (const auto& target : json.at("targets")) {
    const auto name = core::json_field<std::string>(target, "target");
    long long epochs = 0;
    if (!seen.insert(name).second || name.size() < 7) continue;
    if (core::parse_integer(name.substr(3, name.size() - 6), epochs)) out.push_back(epochs);
  }
  return out;
}

}  // namespace

BudgetReport read_budget(const std::string& text, const std::string& name) {
  const auto json = core::parse_json(text, name);
  try {
    const Metric metric = metric_named(core::json_field<std::string>(json, "metric"));
    std::vector<BudgetRun> runs;
    for (const auto& one : json.at("runs")) {
      BudgetRun run;
      core::read_field(one, "method", run.method);
      core::read_field(one, "batch", run.batch);
      core::read_field(one, "epochs", run.epochs);
      core::read_field(one, "seed", run.seed);
      run.score = number_or_nan(one, metric.name);
      run.cost = number_or_nan(one, "cost");
      run.seconds = number_or_nan(one, "seconds");
      runs.push_back(run);
    }
    BudgetReport report = budget_report(runs, metric, target_batch(json, metric.name + "_mean"),
                                        target_lengths(json));
    core::read_field(json, "about", report.about);
    report.conditions = Conditions::read(json.at("conditions"));
    core::read_field(json, "notes", report.notes);
    return report;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(name + ": not a comparison by budget: " + core::plain_message(error));
  } catch (const Error& error) {
    throw DataError(name + ": not a comparison by budget: " + error.what());
  }
}

}  // namespace adagp::report
