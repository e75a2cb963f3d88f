#include "adagp/results/report/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/stats.h"

namespace adagp::report {
namespace {

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

std::string run_name(const BudgetRun& run) {
  return core::cat("method '", run.method, "', batch size ", run.batch, ", ", run.epochs,
                   " epochs, seed ", run.seed);
}

void check_runs(const std::vector<BudgetRun>& runs) {
  std::set<std::tuple<std::string, int64_t, int64_t, int64_t>> seen;
  bool control = false;
  for (const BudgetRun& run : runs) {
    if (!seen.emplace(run.method, run.batch, run.epochs, run.seed).second) {
      throw Error("compare: " + run_name(run) + " is given twice; expected one run of each");
    }
    for (const auto& [what, value] : {std::pair("cost", run.cost), {"seconds", run.seconds}}) {
      if (!std::isfinite(run.score) || (std::isfinite(value) && value > 0)) continue;
      throw Error(core::cat("compare: ", run_name(run), ": ", what, " is ", core::shortest(value),
                            ", expected a number above 0"));
    }
    control = control || run.method == "bp";
  }
  if (!control) {
    throw Error(core::cat("compare: no run of 'bp' among ", runs.size(),
                          " runs: there is nothing to compare with; add bp to the methods"));
  }
}

std::vector<std::string> hardware_of(const std::vector<BudgetRun>& runs) {
  std::set<std::string> out;
  for (const BudgetRun& run : runs) {
    if (!run.hardware.empty()) out.insert(run.hardware);
  }
  return {out.begin(), out.end()};
}

// Runs of one method, batch size and length.
struct BudgetGroup {
  BudgetRow row;
  std::vector<double> scores;
};

template <typename Read>
double mean_of(const std::vector<BudgetRun>& runs, Read read) {
  std::vector<double> values;
  for (const BudgetRun& run : runs) values.push_back(read(run));
  return mean(values);
}

BudgetGroup summarise_budget(const std::vector<BudgetRun>& runs) {
  BudgetGroup group;
  for (const BudgetRun& run : runs) {
    group.scores.push_back(std::isfinite(run.score) ? run.score : kNoScore);
  }
  BudgetRow& row = group.row;
  row.method = runs[0].method;
  row.batch = runs[0].batch;
  row.epochs = runs[0].epochs;
  row.n = static_cast<int64_t>(runs.size());
  row.score_mean = mean(group.scores);
  row.score_sd = standard_deviation(group.scores);
  row.cost_mean = mean_of(runs, [](const BudgetRun& run) { return run.cost; });
  row.seconds_mean = mean_of(runs, [](const BudgetRun& run) { return run.seconds; });
  return group;
}

std::vector<BudgetGroup> by_budget(const std::vector<BudgetRun>& runs) {
  std::map<std::string, size_t> place = {{"bp", 0}};
  std::map<std::tuple<size_t, int64_t, int64_t>, std::vector<BudgetRun>> sorted;
  for (const BudgetRun& run : runs) {
    const size_t method = place.emplace(run.method, place.size()).first->second;
    sorted[{method, run.batch, run.epochs}].push_back(run);
  }
  std::vector<BudgetGroup> out;
  for (const auto& entry : sorted) out.push_back(summarise_budget(entry.second));
  return out;
}

// Of seeds around the mean of their row, over all rows that have several.
double pooled_deviation(const std::vector<BudgetGroup>& groups) {
  double squares = 0, freedom = 0;
  for (const BudgetGroup& group : groups) {
    if (!std::isfinite(group.row.score_sd)) continue;
    const auto more = static_cast<double>(group.row.n - 1);
    squares += more * group.row.score_sd * group.row.score_sd;
    freedom += more;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : kNoScore;
}

// The control by one account of what was spent, for each batch size. A length with a run that has
// no score is left out whole: those that got through are not a fair sample of it.
std::vector<Curve> control_curves(const std::vector<BudgetGroup>& groups, double pooled,
                                  double BudgetRow::*spent) {
  std::map<int64_t, std::vector<BudgetScores>> by_batch;
  for (const BudgetGroup& group : groups) {
    if (group.row.method != "bp" || !std::isfinite(group.row.score_mean)) continue;
    by_batch[group.row.batch].push_back({group.row.*spent, group.scores});
  }
  std::vector<Curve> out;
  for (const auto& [batch, budgets] : by_batch) {
    if (auto curve = fit_curve(batch, budgets, pooled)) out.push_back(*curve);
  }
  return out;
}

using Against = BudgetRow::Against;

std::optional<Against> above(const BudgetRow& row, double pooled, const Estimate& control,
                             int64_t batch) {
  if (!std::isfinite(row.score_mean)) return std::nullopt;
  const double own = trusted_deviation(row.score_sd, row.n - 1, pooled);
  const double mean_error = own / std::sqrt(static_cast<double>(row.n));
  return Against{row.score_mean - control.value, std::hypot(mean_error, control.error), batch};
}

// Against the same batch size and against the best one.
std::pair<std::optional<Against>, std::optional<Against>> against_curves(
    const BudgetRow& row, double pooled, const std::vector<Curve>& curves, double spent) {
  std::pair<std::optional<Against>, std::optional<Against>> out;
  for (const Curve& curve : curves) {
    if (curve.batch != row.batch) continue;
    if (const auto control = control_at(curve, spent)) {
      out.first = above(row, pooled, *control, curve.batch);
    }
  }
  if (const auto best = best_control_at(curves, spent)) {
    out.second = above(row, pooled, best->score, best->batch);
  }
  return out;
}

void note_controls(BudgetReport& report) {
  std::map<int64_t, size_t> budgets;
  for (const BudgetRow& row : report.rows) {
    if (row.method != "bp") continue;
    size_t& count = budgets[row.batch];
    if (std::isfinite(row.score_mean)) {
      ++count;
    } else {
      report.notes.push_back(core::cat("bp, batch size ", row.batch, ", ", row.epochs,
                                       " epochs has a run without a score and is left out of the "
                                       "control."));
    }
  }
  for (const auto& [batch, count] : budgets) {
    const auto curve = std::find_if(report.by_seconds.begin(), report.by_seconds.end(),
                                    [&, b = batch](const Curve& one) { return one.batch == b; });
    if (curve == report.by_seconds.end()) {
      report.notes.push_back(
          core::cat("bp, batch size ", batch, " has no two different budgets: no control for it."));
    } else if (curve->coefficients.size() == 2) {
      report.notes.push_back(core::cat("bp, batch size ", batch, ": two ",
                                       count > 2 ? "budgets that differ in seconds" : "budgets",
                                       " give a control without curvature of its own; a third "
                                       "would show it."));
    }
    if (curve != report.by_seconds.end() && turns_down(*curve)) {
      report.notes.push_back(core::cat("bp, batch size ", batch,
                                       ": the fit falls with more spending; the control keeps the "
                                       "best score had for less."));
    }
  }
}

}  // namespace

BudgetReport budget_report(std::vector<BudgetRun> runs, const Metric& metric, int64_t batch,
                           const std::vector<int64_t>& target_epochs) {
  check_runs(runs);
  const auto groups = by_budget(runs);
  const double pooled = pooled_deviation(groups);
  BudgetReport report;
  report.metric = metric;
  report.runs = std::move(runs);
  report.by_cost = control_curves(groups, pooled, &BudgetRow::cost_mean);
  const std::string unlike = hardware_note(hardware_of(report.runs));
  if (unlike.empty()) {
    report.by_seconds = control_curves(groups, pooled, &BudgetRow::seconds_mean);
  } else {
    report.notes.push_back(unlike);
    report.unlike_devices = true;
  }
  for (const BudgetGroup& group : groups) {
    BudgetRow row = group.row;
    if (row.method != "bp") {
      std::tie(row.counted, row.best_counted) =
          against_curves(row, pooled, report.by_cost, row.cost_mean);
      std::tie(row.clock, row.best_clock) =
          against_curves(row, pooled, report.by_seconds, row.seconds_mean);
    }
    report.rows.push_back(row);
  }
  if (!unlike.empty()) return report;
  note_controls(report);
  report.targets = time_to_targets(report.rows, batch, target_epochs, report.notes);
  return report;
}

}  // namespace adagp::report
