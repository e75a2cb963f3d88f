// A comparison by budget: its tables and verdict, and what a given score costs.

#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/page/parts.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

using report::BudgetReport;
using report::TargetRow;

// The chart of budget.svg as lines that the script can read.
std::vector<Line> lines_of(const report::LineChart& chart) {
  std::vector<Line> out;
  for (const report::LineSeries& series : chart.series) {
    Line line;
    line.name = series.name;
    line.style = static_cast<size_t>(std::max(series.colour, 0));
    line.marker = series.marker;
    line.stroke = series.stroke;
    for (size_t i = 0; i < series.points.size(); ++i) {
      const auto& [x, y] = series.points[i];
      line.x["seconds"].push_back(x);
      Values& values = line.y["score"];
      values.value.push_back(y);
    }
    if (!series.points.empty()) out.push_back(std::move(line));
  }
  return out;
}

// Seconds to every score of the slider: the script looks up and computes nothing.
Json slider_data(const BudgetReport& report) {
  double low = INFINITY, high = -INFINITY;
  for (const report::BudgetRow& row : report.rows) {
    if (!std::isfinite(row.score_mean)) continue;
    low = std::min(low, row.score_mean);
    high = std::max(high, row.score_mean);
  }
  if (!(high > low)) return nullptr;
  constexpr int kSteps = 100;
  Json out = {{"unit", report.metric.label + (report.metric.percent ? " %" : "")},
              {"scores", Json::array()},
              {"rows", Json::array()}};
  for (int i = 0; i <= kSteps; ++i) {
    const double score = low + (high - low) * i / kSteps;
    out["scores"].push_back(rounded(score));
    const std::vector<TargetRow> rows = report::time_to_score(report, score);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (i == 0) {
        out["rows"].push_back({{"n", core::cat(rows[r].method, ", batch ", rows[r].batch)}});
      }
      const auto bound = [](const std::optional<double>& value, report::Bound kind) {
        const char* sign = kind == report::Bound::kAtMost    ? "≤ "
                           : kind == report::Bound::kAtLeast ? "≥ "
                                                             : "";
        return value ? sign + core::fixed(*value, 2) : std::string("-");
      };
      out["rows"][r]["s"].push_back(bound(rows[r].seconds, rows[r].seconds_bound));
      out["rows"][r]["r"].push_back(bound(rows[r].ratio, rows[r].ratio_bound));
    }
  }
  return out;
}

// What the script fills; without it nothing is shown.
std::string slider_text(const Json& slider, const std::string& id) {
  const size_t last = slider["scores"].size() - 1;
  report::Table table({"<method", "seconds", "bp's best / this"});
  for (const Json& row : slider["rows"]) table.add_row({row["n"].get<std::string>(), "", ""});
  return core::cat("<div class=\"slider script\" hidden id=\"", id,
                   "\">\n<label>Score to reach <input type=\"range\" min=\"0\" max=\"", last,
                   "\" value=\"", last / 2, "\"></label> <output></output>\n",
                   table.html("Seconds to this score"), "</div>\n");
}

}  // namespace

void add_budget(Page& page, const Group& group, const std::string& id) {
  if (!group.budget) return;
  const BudgetReport& report = *group.budget;
  page.body += heading(3, id + "-budget", "Verdict at equal cost and equal time");
  page.body += "<div class=\"verdict\">\n" + paragraphs(report::verdict(report)) + "</div>\n";
  page.add_table(report::rows_table(report).html("Methods by length, mean ± standard deviation"),
                 "Methods by length");
  page.body += "<p class=\"about\">" + safe(report::kBudgetLegend) + "</p>\n";
  for (const std::string& note : report.notes) page.body += "<p>" + safe(note) + "</p>\n";

  report::IntervalChart chart;
  chart.x_title = "points, ± 2 standard errors";
  for (const report::BudgetRow& row : report.rows) {
    if (!row.best_clock || !std::isfinite(row.best_clock->points)) continue;
    const double reach = 2 * row.best_clock->error;
    chart.rows.push_back({core::cat(row.method, ", ", row.epochs, " ep"), row.best_clock->points,
                          row.best_clock->points - reach, row.best_clock->points + reach});
  }
  if (!chart.rows.empty()) {
    Figure figure;
    figure.id = id + "-equal-time";
    figure.title = "Points above backprop at equal seconds";
    figure.about =
        "Right of 0: better than backprop of its best batch size that trained for as many seconds.";
    figure.svg = report::svg(chart, report::Use::kPage);
    page.add(figure);
  }
  page.body += heading(3, id + "-time", "Time to accuracy");
  LineFigure lines;
  lines.id = id + "-budget-chart";
  const report::LineChart drawn = report::to_chart(report);
  lines.title = drawn.title;
  lines.about = "Dashed: fits through plain backprop. Markers: means over the seeds.";
  lines.x_axes = {{"seconds", "seconds of training (log scale)"}};
  lines.y_axes = {{"score", drawn.y_title}};
  lines.log_x = true;
  lines.lines = lines_of(drawn);
  lines.table = report::rows_table(report).html("Methods by length, the data of this chart");
  add_lines(page, lines);
  if (!report.targets.empty()) {
    page.add_table(report::targets_table(report).html("Seconds to backprop's scores"), "Targets");
  }
  const Json slider = slider_data(report);
  if (slider.is_null()) return;
  page.body += slider_text(slider, id + "-slider");
  Json rows = Json::array();
  for (const Json& row : slider["rows"]) rows.push_back({row["s"], row["r"]});
  page.charts[id + "-slider"] = {
      {"k", "slider"}, {"unit", slider["unit"]}, {"scores", slider["scores"]}, {"rows", rows}};
}

}  // namespace adagp::page
