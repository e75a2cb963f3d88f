#include "adagp/results/report/budget.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "adagp/base/core/text.h"

namespace adagp::report {
namespace {

// The budgets of one method and batch size.
struct Budgets {
  std::string method;
  int64_t batch = 0;
  std::vector<std::pair<double, double>> points;  // seconds, mean score; by rising seconds
};

std::vector<Budgets> budgets_of(const std::vector<BudgetRow>& rows) {
  std::vector<Budgets> out;
  for (const BudgetRow& row : rows) {
    if (out.empty() || out.back().method != row.method || out.back().batch != row.batch) {
      out.push_back({row.method, row.batch, {}});
    }
    if (std::isfinite(row.score_mean)) {
      out.back().points.emplace_back(row.seconds_mean, row.score_mean);
    }
  }
  for (Budgets& budgets : out) std::sort(budgets.points.begin(), budgets.points.end());
  return out;
}

void set_seconds(TargetRow& row, const std::vector<std::pair<double, double>>& points) {
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& [seconds, score] = points[i];
    if (score < row.score) continue;
    row.seconds = seconds;
    if (i == 0) {
      row.seconds_bound = score > row.score ? Bound::kAtMost : Bound::kExact;
      return;
    }
    // All before are below the target; the best of them is what can be had at the last one's time.
    double before = points[0].second;
    for (size_t j = 1; j < i; ++j) before = std::max(before, points[j].second);
    const double start = 1 / std::sqrt(points[i - 1].first), end = 1 / std::sqrt(seconds);
    const double share = (row.score - before) / (score - before);
    const double root = start + share * (end - start);
    row.seconds = 1 / (root * root);
    return;
  }
}

// Over the best of bp's rows, which may itself be only a bound.
void set_ratios(std::vector<TargetRow>& rows) {
  std::optional<double> best;
  bool bound = false;
  for (const TargetRow& row : rows) {
    if (row.method != "bp" || !row.seconds) continue;
    best = best ? std::min(*best, *row.seconds) : *row.seconds;
    bound = bound || row.seconds_bound == Bound::kAtMost;
  }
  for (TargetRow& row : rows) {
    const bool mine = row.seconds_bound == Bound::kAtMost;
    if (!best || !row.seconds || (bound && mine)) continue;
    row.ratio = *best / *row.seconds;
    row.ratio_bound = bound ? Bound::kAtMost : mine ? Bound::kAtLeast : Bound::kExact;
  }
}

std::vector<TargetRow> rows_to(const std::vector<Budgets>& all, double score,
                               const std::string& name) {
  std::vector<TargetRow> out;
  for (const Budgets& budgets : all) {
    TargetRow row;
    row.target = name;
    row.score = score;
    row.method = budgets.method;
    row.batch = budgets.batch;
    set_seconds(row, budgets.points);
    out.push_back(row);
  }
  set_ratios(out);
  return out;
}

}  // namespace

std::vector<TargetRow> time_to_score(const BudgetReport& report, double score) {
  return rows_to(budgets_of(report.rows), score, core::fixed(score, 2));
}

std::vector<TargetRow> time_to_targets(const std::vector<BudgetRow>& rows, int64_t batch,
                                       const std::vector<int64_t>& target_epochs,
                                       std::vector<std::string>& notes) {
  std::vector<TargetRow> out;
  const auto all = budgets_of(rows);
  for (const int64_t epochs : target_epochs) {
    const auto target = std::find_if(rows.begin(), rows.end(), [&](const BudgetRow& row) {
      return row.method == "bp" && row.batch == batch && row.epochs == epochs;
    });
    const std::string name = core::cat("bp ", epochs, " ep");
    if (target == rows.end() || !std::isfinite(target->score_mean)) {
      notes.push_back(core::cat(
          "No target '", name, "': bp with batch size ", batch, " and ", epochs, " epochs ",
          target == rows.end() ? "was not run." : "has a run without a score."));
      continue;
    }
    const auto mine = rows_to(all, target->score_mean, name);
    out.insert(out.end(), mine.begin(), mine.end());
  }
  return out;
}

}  // namespace adagp::report
