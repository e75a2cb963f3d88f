#pragma once
// Methods at several budgets against a curve through plain backprop: how many points a method is
// above or below backprop of equal cost, and what a given score costs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/results/report/budget_curve.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/compare.h"

namespace adagp::report {

// What one finished run contributes.
struct BudgetRun {
  std::string method;  // "bp" is the control
  int64_t epochs = 0, batch = 0, seed = 0;
  double score = 0;        // more is better; not finite: the run has none
  double cost = 0;         // counted by multiplications, in epochs of plain backprop
  double seconds = 0;      // of training
  std::string hardware{};  // RunRecord's
};

// A method at one budget.
struct BudgetRow {
  std::string method;
  int64_t epochs = 0, batch = 0, n = 0;
  // NaN where a number does not exist; a run without a score leaves its row without a mean.
  double score_mean = 0, score_sd = 0, cost_mean = 0, seconds_mean = 0;
  // Points above backprop of the same batch size at equal counted cost and at equal seconds, and
  // above backprop of whichever batch size is best there. The standard error is that of the row's
  // mean and that of the control together, NaN where nothing tells it; below three runs the
  // standard deviation pooled over all rows stands in (trusted_deviation). Nothing where the
  // control was not measured, and for bp itself.
  struct Against {
    double points = 0, error = 0;
    int64_t batch = 0;  // of the control
  };
  std::optional<Against> counted, clock, best_counted, best_clock;
};

enum class Bound { kExact, kAtMost, kAtLeast };

// Seconds a method needs for a score, linear in 1 / sqrt(seconds) between its budgets as the
// control is (in log(seconds) batch sizes of backprop other than the target's would seem slower
// than they are, by several percent between budgets far apart); more spending never counts for less
// than the best score had before.
struct TargetRow {
  std::string target;  // "bp 15 ep"
  double score = 0;
  std::string method;
  int64_t batch = 0;
  // Nothing: not reached by what was run. At most: its smallest budget already exceeds the score.
  std::optional<double> seconds;
  Bound seconds_bound = Bound::kExact;
  // Seconds of backprop at its best batch size / of the method. Nothing when one of them is not
  // known or when both are bounds.
  std::optional<double> ratio;
  Bound ratio_bound = Bound::kExact;
};

struct BudgetReport {
  std::string about;  // a line: which network, data and device; empty: not told
  Conditions conditions;
  Metric metric;
  std::vector<BudgetRun> runs;
  std::vector<Curve> by_cost, by_seconds;  // of bp, one for each batch size with enough budgets
  std::vector<BudgetRow> rows;  // bp first, then by first appearance; by batch size, then epochs
  std::vector<TargetRow> targets;
  std::vector<std::string> notes;  // sentences: what is missing, and why
  bool unlike_devices = false;     // then nothing is judged by seconds
};

// `batch`: the batch size whose backprop sets the targets; `target_epochs`: whose scores they are.
// A target that was not run is left out, with a note. Throws Error without bp runs, for a method,
// batch size, length and seed given twice, and for a cost or time that is not above 0.
BudgetReport budget_report(std::vector<BudgetRun> runs, const Metric& metric, int64_t batch,
                           const std::vector<int64_t>& target_epochs);

// Which rows are above backprop of its best batch size at equal seconds by more than two standard
// errors, which below, which cannot be told; and that several are asked at once. A paragraph more
// where bp's runs say that the seconds cannot be trusted.
std::string verdict(const BudgetReport& report);

// {"about", "conditions", "metric", "rows": [{"method", "batch", "epochs", "n", "<metric>_mean",
// "<metric>_sd", "cost_mean", "seconds_mean", "counted", "clock", "best_counted", "best_clock":
// each {"points", "error", "batch"}}], "curves": {"cost", "seconds": [...]}, "targets": [{"target",
// "score", "method", "batch", "seconds", "seconds_bound", "ratio", "ratio_bound"}], "runs": [...],
// "notes", "verdict"}; what does not exist is null.
std::string to_json(const BudgetReport& report);
std::string to_markdown(const BudgetReport& report);  // rows, targets, controls, notes, verdict
std::string to_console(const BudgetReport& report);   // the same
std::string to_csv(const BudgetReport& report);       // the rows, unrounded
// The rows, the targets and the controls, for people; with no rows where there is nothing to tell.
Table rows_table(const BudgetReport& report);
Table targets_table(const BudgetReport& report);
Table controls_table(const BudgetReport& report);
// What the columns of the rows are.
extern const char* const kBudgetLegend;
// Score against seconds: a line per method and batch size, the fits through bp dashed. Throws Error
// when no run has a score.
LineChart to_chart(const BudgetReport& report);
std::string to_svg(const BudgetReport& report);

// The report that to_json() wrote, from its runs. Throws DataError saying what is wrong with it;
// `name` is the file's.
BudgetReport read_budget(const std::string& json, const std::string& name);
// Seconds to a score, for every method and batch size of the rows.
std::vector<TargetRow> time_to_score(const BudgetReport& report, double score);

// For every method and batch size of `rows`, in their order. Targets that are not among the rows
// are left out and named in `notes`.
std::vector<TargetRow> time_to_targets(const std::vector<BudgetRow>& rows, int64_t batch,
                                       const std::vector<int64_t>& target_epochs,
                                       std::vector<std::string>& notes);

}  // namespace adagp::report
