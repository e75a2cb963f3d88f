#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "adagp/base/core/text.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

using Against = BudgetRow::Against;

constexpr double kErrors = 2;  // standard errors that tell a row from the control

std::string against_cell(const std::optional<Against>& against) {
  if (!against) return "-";
  return signed_points(against->points) +
         (std::isfinite(against->error) ? " ± " + core::fixed(against->error, 2) : "");
}

std::string bounded(const std::optional<double>& value, Bound bound, int digits,
                    const char* unit = "") {
  if (!value) return "-";
  const std::string sign = bound == Bound::kAtMost ? "<= " : bound == Bound::kAtLeast ? ">= " : "";
  return sign + core::fixed(*value, digits) + unit;
}

}  // namespace

Table rows_table(const BudgetReport& report) {
  Table table(titled({"<method", "batch", "epochs", "n",
                      report.metric.label + (report.metric.percent ? " %" : ""), "cost, BP epochs",
                      "seconds", "d counted", "d clock", "d clock, best batch"}));
  for (const BudgetRow& row : report.rows) {
    table.add_row({row.method, core::cat(row.batch), core::cat(row.epochs), core::cat(row.n),
                   with_spread(row.score_mean, row.score_sd), number_or_dash(row.cost_mean, 2),
                   number_or_dash(row.seconds_mean, 1), against_cell(row.counted),
                   against_cell(row.clock), against_cell(row.best_clock)});
  }
  return table;
}

Table targets_table(const BudgetReport& report) {
  Table table({"<target", "score", "<method", "batch", "seconds", "bp's best / this"});
  for (const TargetRow& row : report.targets) {
    table.add_row({row.target, core::fixed(row.score, 2), row.method, core::cat(row.batch),
                   bounded(row.seconds, row.seconds_bound, 1),
                   bounded(row.ratio, row.ratio_bound, 2, "x")});
  }
  return table;
}

Table controls_table(const BudgetReport& report) {
  Table table({"<control", "budgets", "runs", "from s", "to s", "degree", "sd around it"});
  for (const Curve& curve : report.by_seconds) {
    table.add_row({core::cat("bp, batch ", curve.batch), core::cat(curve.points.size()),
                   core::cat(curve.runs), core::fixed(curve.from, 1), core::fixed(curve.to, 1),
                   core::cat(curve.coefficients.size() - 1), number_or_dash(curve.residual, 2)});
  }
  return table;
}

const char* const kBudgetLegend =
    "d: points above a curve through plain backprop at equal counted cost or equal seconds, ± "
    "standard error; the curve of the same batch size or of whichever is best there. - : backprop "
    "was not measured there.";

namespace {

std::string assemble(const BudgetReport& report, std::string (Table::*write)() const) {
  std::string out = heading(report.about, report.conditions);
  if (!out.empty()) out += "\n\n";
  out += (rows_table(report).*write)() + "\n" + kBudgetLegend + "\n";
  if (!report.targets.empty()) out += "\n" + (targets_table(report).*write)();
  if (!report.by_seconds.empty()) out += "\n" + (controls_table(report).*write)();
  for (const std::string& note : report.notes) out += "\n" + note + "\n";
  return out + "\n" + verdict(report) + "\n";
}

std::string row_name(const BudgetRow& row) {
  return core::cat(row.method, " (batch ", row.batch, ", ", row.epochs, " ep)");
}

// The rows of a verdict, by what can be said of them.
struct Sorted {
  std::vector<std::string> above, below, open, unknown, unmeasured, failed;
  size_t asked() const { return above.size() + below.size() + open.size(); }
  int64_t seeds = std::numeric_limits<int64_t>::max();  // the fewest of a row that is judged
};

Sorted sort_rows(const BudgetReport& report) {
  Sorted out;
  for (const BudgetRow& row : report.rows) {
    if (row.method == "bp") continue;
    const auto& against = row.best_clock;
    const std::string text = row_name(row) + (against ? " " + against_cell(against) : "");
    if (!std::isfinite(row.score_mean)) {
      out.failed.push_back(text);
    } else if (!against) {
      out.unmeasured.push_back(text);
    } else if (!std::isfinite(against->error)) {
      out.unknown.push_back(text);
    } else {
      out.seeds = std::min(out.seeds, row.n);
      const bool told = std::abs(against->points) > kErrors * against->error;
      (!told ? out.open : against->points > 0 ? out.above : out.below).push_back(text);
    }
  }
  return out;
}

void say(std::vector<std::string>& sentences, const std::string& what,
         const std::vector<std::string>& rows) {
  if (!rows.empty()) sentences.push_back(what + ": " + core::join(rows, "; ") + ".");
}

// Of single runs of bp, not of their means over the seeds: a machine that was busy for a while
// slows all lengths of a seed alike, and the means agree. Each begins a paragraph.
std::string clock_notes(const BudgetReport& report) {
  // Of bp's seconds for an epoch, by batch size and hardware.
  std::map<std::pair<int64_t, std::string>, std::pair<double, double>> range;
  for (const BudgetRun& run : report.runs) {
    const double pace = run.seconds / run.cost;
    if (run.method != "bp" || !std::isfinite(pace)) continue;
    auto& [least, most] =
        range.emplace(std::pair(run.batch, run.hardware), std::pair(pace, pace)).first->second;
    least = std::min(least, pace);
    most = std::max(most, pace);
  }
  std::string out;
  for (const auto& [key, paces] : range) {
    const std::string what = core::cat("bp, batch size ", key.first, ": an epoch");
    const std::string note = clock_note(what, paces.first, paces.second);
    if (!note.empty()) out += "\n\n" + note;
  }
  return out;
}

}  // namespace

std::string verdict(const BudgetReport& report) {
  if (report.unlike_devices) {
    return "Not judged at equal seconds, because the runs were on unlike devices; the points at "
           "equal counted cost stand in the table." +
           clock_notes(report);
  }
  const Sorted rows = sort_rows(report);
  std::vector<std::string> out;
  say(out, "Above by more than two standard errors", rows.above);
  say(out, "Below by more than two standard errors", rows.below);
  say(out, "Cannot be told from it", rows.open);
  say(out, "Not judged, because single runs give no standard error", rows.unknown);
  say(out, "Not judged, because backprop was not run for that many seconds", rows.unmeasured);
  say(out, "Not judged, because a run has no score", rows.failed);
  if (out.empty()) return "Only bp runs: nothing to compare." + clock_notes(report);
  if (!report.targets.empty()) {
    out.push_back("Seconds to a score are read between mean scores and have no standard error.");
  }
  if (rows.asked() > 0) {
    if (rows.above.empty()) out.insert(out.begin(), "Nothing is above it for certain.");
    const std::string several =
        rows.asked() == 1 ? "If it did not differ it would"
                          : core::cat(rows.asked(),
                                      " rows are judged at once and the threshold is not raised "
                                      "for that: if nothing differed, each would");
    const std::string few = rows.seeds < 3    ? ", more often with so few seeds"
                            : rows.seeds == 3 ? ", with three seeds about once in six"
                                              : "";
    out.push_back(several + " still be called above or below once in twenty times" + few + ".");
  }
  return "Compared at equal seconds with plain backprop of its best batch size. " +
         core::join(out, " ") + clock_notes(report);
}

std::string to_markdown(const BudgetReport& report) {
  return assemble(report, &Table::markdown);
}

std::string to_console(const BudgetReport& report) {
  return assemble(report, &Table::console);
}

}  // namespace adagp::report
