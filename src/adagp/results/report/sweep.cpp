#include "adagp/results/report/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::vector<double> column_of(const std::vector<SweepRun>& runs, double SweepRun::*field) {
  std::vector<double> out;
  for (const SweepRun& run : runs) {
    if (std::isfinite(run.score)) out.push_back(run.*field);
  }
  return out;
}

std::optional<SweepRow::Control> control_row(const std::vector<SweepRun>& point,
                                             const std::vector<SweepRun>& control) {
  if (control.empty()) return std::nullopt;
  std::map<int64_t, double> scores;
  for (const SweepRun& run : control) scores[run.seed] = run.score;
  std::vector<double> differences;
  for (const SweepRun& run : point) {
    const auto other = scores.find(run.seed);
    if (other == scores.end()) continue;
    const double difference = run.score - other->second;
    if (std::isfinite(difference)) differences.push_back(difference);
  }
  return SweepRow::Control{
      mean(column_of(control, &SweepRun::score)), mean(column_of(control, &SweepRun::cost)),
      mean(column_of(control, &SweepRun::seconds)), paired_difference(differences)};
}

SweepRow row_of(const SweepPointRuns& point) {
  SweepRow row;
  row.name = point.name;
  row.values = point.values;
  row.n = static_cast<int64_t>(point.runs.size());
  const std::vector<double> scores = column_of(point.runs, &SweepRun::score);
  row.diverged = row.n - static_cast<int64_t>(scores.size());
  const bool judged = row.diverged == 0;
  row.score_mean = judged ? mean(scores) : kNoNumber;
  row.score_error =
      judged ? standard_deviation(scores) / std::sqrt(static_cast<double>(row.n)) : kNoNumber;
  row.cost_mean = mean(column_of(point.runs, &SweepRun::cost));
  row.seconds_mean = mean(column_of(point.runs, &SweepRun::seconds));
  row.gp_share = point.gp_share;
  row.cosine = point.cosine.value_or(kNoNumber);
  row.speedup = point.speedup.value_or(kNoNumber);
  row.bp = control_row(point.runs, point.bp);
  row.skip = control_row(point.runs, point.skip);
  return row;
}

// Names of the rows whose difference lies wholly above or below their control.
std::string against(const SweepReport& report, const char* what,
                    std::optional<SweepRow::Control> SweepRow::*control) {
  std::vector<std::string> above, below;
  int64_t judged = 0;
  for (const SweepRow& row : report.rows) {
    const auto& own = row.*control;
    if (!own || own->above.n < kEnoughSeeds) continue;
    ++judged;
    if (!own->above.excludes_zero()) continue;
    (own->above.mean > 0 ? above : below).push_back(row.name);
  }
  if (judged == 0) {
    return core::cat("Against ", what, " nothing is concluded: fewer than ", kEnoughSeeds,
                     " common seeds.");
  }
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : core::join(names, "; ");
  };
  return core::cat("Of ", judged, judged == 1 ? " point" : " points", " beside ", what,
                   ", above it: ", list(above), "; below it: ", list(below),
                   ". The others cannot be told from it.");
}

}  // namespace

std::vector<std::string> parse_axes(const std::string& text, const std::string& metric) {
  std::vector<std::string> axes;
  for (const std::string& part : core::split(text, ',')) {
    std::string name = core::trim(part);
    if (name == "acc" || name == "accuracy" || name == metric) name = "score";
    const std::vector<std::string> known{"score", "seconds", "cost", "speedup"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError("--pareto: unknown axis '" + name + "'" +
                       core::suggestion(name, {"acc", "seconds", "cost", "speedup"}));
    }
    if (std::find(axes.begin(), axes.end(), name) != axes.end()) {
      const bool other_name = name != core::trim(part);
      throw UsageError("--pareto " + text + ": '" + core::trim(part) + "'" +
                       (other_name ? " (the score)" : "") +
                       " is given twice; expected different axes, as acc,seconds");
    }
    axes.push_back(name);
  }
  if (axes.size() < 2) {
    throw UsageError("--pareto: '" + text + "', expected two or more axes, as acc,seconds");
  }
  return axes;
}

std::vector<double> on_axes(const SweepRow& row, const std::vector<std::string>& axes) {
  std::vector<double> out;
  for (const std::string& axis : axes) {
    out.push_back(axis == "score"     ? row.score_mean
                  : axis == "seconds" ? -row.seconds_mean
                  : axis == "cost"    ? -row.cost_mean
                                      : row.speedup);
  }
  return out;
}

SweepReport sweep_report(const std::vector<SweepPointRuns>& points,
                         const std::vector<std::string>& keys, const Metric& metric,
                         const std::vector<std::string>& axes) {
  SweepReport report;
  report.metric = metric;
  report.keys = keys;
  report.axes = axes;
  std::vector<std::vector<double>> values;
  for (const SweepPointRuns& point : points) {
    report.rows.push_back(row_of(point));
    values.push_back(on_axes(report.rows.back(), axes));
  }
  const std::vector<int> layers = pareto_layers(values);
  for (size_t i = 0; i < layers.size(); ++i) report.rows[i].front = layers[i] == 0;
  return report;
}

std::string verdict(const SweepReport& report) {
  const auto any = [&](auto control) {
    return std::any_of(report.rows.begin(), report.rows.end(),
                       [&](const SweepRow& row) { return (row.*control).has_value(); });
  };
  std::string out;
  if (any(&SweepRow::bp)) out = against(report, "backprop of equal cost", &SweepRow::bp);
  if (any(&SweepRow::skip)) {
    out += (out.empty() ? "" : "\n\n") +
           against(report, "the same schedule with its GP batches dropped (skip)", &SweepRow::skip);
  }
  if (out.empty()) return "No point has a control: nothing says whether one of them pays.";
  return out +
         "\n\nSeveral points are asked at once and the intervals are not widened for that: of "
         "twenty points that are equal to their control, one is found above or below it by chance.";
}

}  // namespace adagp::report
