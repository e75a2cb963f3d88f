// The report as JSON, CSV and SVG.

#include <cmath>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/results/report/budget.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

using nlohmann::ordered_json;
using Against = BudgetRow::Against;

ordered_json against_json(const std::optional<Against>& against) {
  if (!against) return nullptr;
  return {{"points", against->points}, {"error", against->error}, {"batch", against->batch}};
}

ordered_json number_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// A bound of a number that is not there is none.
ordered_json bound_json(const std::optional<double>& value, Bound bound) {
  if (!value) return nullptr;
  return bound == Bound::kExact ? "exact" : bound == Bound::kAtMost ? "at most" : "at least";
}

ordered_json row_json(const BudgetRow& row, const std::string& metric) {
  return {{"method", row.method},
          {"batch", row.batch},
          {"epochs", row.epochs},
          {"n", row.n},
          {metric + "_mean", row.score_mean},
          {metric + "_sd", row.score_sd},
          {"cost_mean", row.cost_mean},
          {"seconds_mean", row.seconds_mean},
          {"counted", against_json(row.counted)},
          {"clock", against_json(row.clock)},
          {"best_counted", against_json(row.best_counted)},
          {"best_clock", against_json(row.best_clock)}};
}

ordered_json curves_json(const std::vector<Curve>& curves) {
  ordered_json out = ordered_json::array();
  for (const Curve& curve : curves) {
    out.push_back({{"batch", curve.batch},
                   {"runs", curve.runs},
                   {"from", curve.from},
                   {"to", curve.to},
                   {"points", curve.points},
                   {"variable", "(1/sqrt(spent) - centre) / scale"},
                   {"centre", curve.centre},
                   {"scale", curve.scale},
                   {"coefficients", curve.coefficients},
                   {"residual", curve.residual}});
  }
  return out;
}

std::vector<std::string> against_cells(const std::optional<Against>& against) {
  if (!against) return {"", ""};
  return {exact_number(against->points), exact_number(against->error)};
}

// A line for each method and batch size: colour by method, marker by batch size.
std::vector<LineSeries> drawn_rows(const BudgetReport& report) {
  std::map<int64_t, int> markers;
  for (const BudgetRow& row : report.rows) markers[row.batch] = 0;
  int next = 1;
  for (auto& entry : markers) entry.second = next++;
  std::vector<LineSeries> out;
  const BudgetRow* last = nullptr;
  int method = 0;
  for (const BudgetRow& row : report.rows) {
    const bool same_method = last == nullptr || last->method == row.method;
    if (last == nullptr || !same_method || last->batch != row.batch) {
      method += same_method ? 0 : 1;
      LineSeries& series = out.emplace_back();
      series.name = core::cat(row.method, ", batch ", row.batch);
      series.colour = method;
      series.marker = markers[row.batch];
      // bp's line is its fit. Where colours come again, lines are dotted.
      const bool again = method / colour_count() % 2 == 1;
      series.stroke = row.method == "bp" ? Stroke::kNone : again ? Stroke::kDotted : Stroke::kSolid;
    }
    last = &row;
    if (!std::isfinite(row.score_mean)) continue;
    out.back().points.emplace_back(row.seconds_mean, row.score_mean);
    out.back().errors.push_back(std::isfinite(row.score_sd) ? row.score_sd : 0);
  }
  for (LineSeries& series : out) {
    if (series.points.empty()) series.name += " (no score)";
  }
  return out;
}

LineSeries drawn_curve(const Curve& curve) {
  LineSeries series;
  series.stroke = Stroke::kDashed;
  series.colour = 0;
  constexpr int kSteps = 40;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = curve.from * std::pow(curve.to / curve.from, i / double{kSteps});
    if (const auto control = control_at(curve, x)) series.points.emplace_back(x, control->value);
  }
  return series;
}

}  // namespace

std::string to_json(const BudgetReport& report) {
  // nlohmann writes NaN as null.
  const std::string& metric = report.metric.name;
  ordered_json out;
  out["about"] = report.about;
  out["conditions"] = report.conditions.to_json();
  out["metric"] = metric;
  out["rows"] = ordered_json::array();
  for (const BudgetRow& row : report.rows) out["rows"].push_back(row_json(row, metric));
  out["curves"] = {{"cost", curves_json(report.by_cost)},
                   {"seconds", curves_json(report.by_seconds)}};
  out["targets"] = ordered_json::array();
  for (const TargetRow& row : report.targets) {
    out["targets"].push_back({{"target", row.target},
                              {"score", row.score},
                              {"method", row.method},
                              {"batch", row.batch},
                              {"seconds", number_json(row.seconds)},
                              {"seconds_bound", bound_json(row.seconds, row.seconds_bound)},
                              {"ratio", number_json(row.ratio)},
                              {"ratio_bound", bound_json(row.ratio, row.ratio_bound)}});
  }
  out["runs"] = ordered_json::array();
  for (const BudgetRun& run : report.runs) {
    out["runs"].push_back({{"method", run.method},
                           {"batch", run.batch},
                           {"epochs", run.epochs},
                           {"seed", run.seed},
                           {metric, run.score},
                           {"cost", run.cost},
                           {"seconds", run.seconds}});
  }
  out["notes"] = report.notes;
  out["verdict"] = verdict(report);
  return out.dump(2) + "\n";
}

std::string to_csv(const BudgetReport& report) {
  const std::string& metric = report.metric.name;
  Table table(
      titled({"method", "batch", "epochs", "n", metric + "_mean", metric + "_sd", "cost_mean",
              "seconds_mean", "counted", "counted_error", "clock", "clock_error", "best_counted",
              "best_counted_error", "best_clock", "best_clock_error"}));
  for (const BudgetRow& row : report.rows) {
    std::vector<std::string> cells = {row.method, core::cat(row.batch), core::cat(row.epochs),
                                      core::cat(row.n)};
    for (const double value : {row.score_mean, row.score_sd, row.cost_mean, row.seconds_mean}) {
      cells.push_back(exact_number(value));
    }
    for (const auto& against : {row.counted, row.clock, row.best_counted, row.best_clock}) {
      for (auto& cell : against_cells(against)) cells.push_back(cell);
    }
    table.add_row(cells);
  }
  return table.csv();
}

LineChart to_chart(const BudgetReport& report) {
  LineChart chart;
  chart.title = report.metric.label + " against seconds of training";
  chart.x_title = "seconds (log scale); bars: ± sd of the seeds; dashed: fit through bp";
  chart.y_title = report.metric.label + (report.metric.percent ? " %" : "");
  chart.log_x = true;
  chart.from_zero = false;
  for (const Curve& curve : report.by_seconds) chart.series.push_back(drawn_curve(curve));
  for (LineSeries& series : drawn_rows(report)) chart.series.push_back(std::move(series));
  return chart;
}

std::string to_svg(const BudgetReport& report) {
  return svg(to_chart(report));
}

}  // namespace adagp::report
