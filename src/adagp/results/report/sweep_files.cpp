// The sweep's table for people, and as JSON, CSV and SVG.

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/sweep.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

using nlohmann::ordered_json;
using SweepControl = std::optional<SweepRow::Control>;

ordered_json control_json(const SweepControl& control, const std::string& metric) {
  if (!control) return nullptr;
  return {{metric + "_mean", control->score_mean},
          {"cost_mean", control->cost_mean},
          {"seconds_mean", control->seconds_mean},
          {"above", control->above.mean},
          {"low", control->above.low},
          {"high", control->above.high},
          {"n", control->above.n}};
}

// "+0.12 [-0.30, +0.54]".
std::string above_cell(const SweepControl& control) {
  if (!control || control->above.n == 0) return "-";
  const Difference& d = control->above;
  if (d.n < 2) return signed_points(d.mean);
  return core::cat(signed_points(d.mean), " [", signed_points(d.low), ", ", signed_points(d.high),
                   "]");
}

// A column that is printed only where one of the rows has something in it.
struct SweepColumn {
  std::string title;
  std::vector<std::string> cells;
};

Table sweep_table(const SweepReport& report) {
  std::vector<SweepColumn> columns;
  const auto add = [&](const std::string& title, auto cell) {
    SweepColumn column{title, {}};
    for (const SweepRow& row : report.rows) column.cells.push_back(cell(row));
    const bool any = std::any_of(column.cells.begin(), column.cells.end(),
                                 [](const std::string& text) { return text != "-"; });
    if (any) columns.push_back(std::move(column));
  };
  for (size_t k = 0; k < report.keys.size(); ++k) {
    add("<" + report.keys[k], [&](const SweepRow& row) { return row.values[k]; });
  }
  const std::string percent = report.metric.percent ? " %" : "";
  add("n", [](const SweepRow& row) { return core::cat(row.n); });
  add(report.metric.label + percent + " ± s.e.", [](const SweepRow& row) {
    return row.diverged > 0 ? core::cat("diverged ", row.diverged, "/", row.n)
                            : with_spread(row.score_mean, row.score_error);
  });
  add("seconds", [](const SweepRow& row) { return number_or_dash(row.seconds_mean, 1); });
  add("cost", [](const SweepRow& row) { return number_or_dash(row.cost_mean, 2); });
  add("GP", [](const SweepRow& row) {
    return row.gp_share > 0 ? number_or_dash(100 * row.gp_share, 0, "%") : std::string("-");
  });
  add("cosine", [](const SweepRow& row) { return number_or_dash(row.cosine, 3); });
  add("above bp", [](const SweepRow& row) { return above_cell(row.bp); });
  add("above skip", [](const SweepRow& row) { return above_cell(row.skip); });
  add("accelerator", [](const SweepRow& row) { return number_or_dash(row.speedup, 2, "x"); });
  add("<front", [](const SweepRow& row) { return row.front ? "*" : "-"; });

  std::vector<std::string> titles;
  for (const SweepColumn& column : columns) titles.push_back(column.title);
  Table table(titles);
  for (size_t r = 0; r < report.rows.size(); ++r) {
    std::vector<std::string> cells;
    for (const SweepColumn& column : columns) cells.push_back(column.cells[r]);
    table.add_row(cells);
  }
  return table;
}

std::string sweep_heading(const SweepReport& report) {
  const std::string line = heading(report.about, report.conditions);
  return line.empty() ? "" : line + "\n\n";
}

std::string below_sweep(const SweepReport& report) {
  std::string out =
      "\ncost: epochs of plain backprop by multiplications. above bp: points above backprop of "
      "equal cost. above skip: points above the same schedule without its GP batches. accelerator: "
      "speed-up of the simulated design MAX. front (*): no other point is better on " +
      core::join(report.axes, " and ") + ".\n";
  if (report.runs_done < report.runs_planned) {
    out += core::cat("\n", report.runs_planned - report.runs_done, " of ", report.runs_planned,
                     " runs are not done yet; the same command goes on.\n");
  }
  for (const std::string& note : report.notes) out += "\n" + note + "\n";
  return out + "\n" + verdict(report) + "\n";
}

}  // namespace

std::string to_json(const SweepReport& report) {
  // nlohmann writes NaN as null.
  const std::string& metric = report.metric.name;
  ordered_json out;
  out["about"] = report.about;
  out["conditions"] = report.conditions.to_json();
  out["metric"] = metric;
  out["axes"] = report.axes;
  out["runs_done"] = report.runs_done;
  out["runs_planned"] = report.runs_planned;
  out["points"] = ordered_json::array();
  for (const SweepRow& row : report.rows) {
    ordered_json point{{"name", row.name}};
    ordered_json values = ordered_json::object();
    for (size_t k = 0; k < report.keys.size(); ++k) values[report.keys[k]] = row.values[k];
    point["values"] = values;
    point["n"] = row.n;
    point["diverged"] = row.diverged;
    point[metric + "_mean"] = row.score_mean;
    point[metric + "_error"] = row.score_error;
    point["cost_mean"] = row.cost_mean;
    point["seconds_mean"] = row.seconds_mean;
    point["gp_share"] = row.gp_share;
    point["cosine"] = row.cosine;
    point["speedup"] = row.speedup;
    point["bp"] = control_json(row.bp, metric);
    point["skip"] = control_json(row.skip, metric);
    point["front"] = row.front;
    out["points"].push_back(point);
  }
  out["notes"] = report.notes;
  out["verdict"] = verdict(report);
  return out.dump(2) + "\n";
}

std::string to_markdown(const SweepReport& report) {
  return sweep_heading(report) + sweep_table(report).markdown() + below_sweep(report);
}

std::string to_console(const SweepReport& report) {
  return sweep_heading(report) + sweep_table(report).console() + below_sweep(report);
}

std::string to_csv(const SweepReport& report) {
  const std::string& metric = report.metric.name;
  std::vector<std::string> titles = report.keys;
  titles.insert(titles.end(),
                {"n", "diverged", metric + "_mean", metric + "_error", "cost_mean", "seconds_mean",
                 "gp_share", "cosine", "speedup", "bp_" + metric + "_mean", "above_bp",
                 "above_bp_low", "above_bp_high", "skip_" + metric + "_mean", "above_skip",
                 "above_skip_low", "above_skip_high", "front"});
  Table table(titles);
  for (const SweepRow& row : report.rows) {
    std::vector<std::string> cells = row.values;
    cells.push_back(core::cat(row.n));
    cells.push_back(core::cat(row.diverged));
    for (const double value : {row.score_mean, row.score_error, row.cost_mean, row.seconds_mean,
                               row.gp_share, row.cosine, row.speedup}) {
      cells.push_back(exact_number(value));
    }
    for (const SweepControl& control : {row.bp, row.skip}) {
      const auto number = [&](double value) { return control ? exact_number(value) : ""; };
      const SweepRow::Control own = control.value_or(SweepRow::Control{});
      for (const double value : {own.score_mean, own.above.mean, own.above.low, own.above.high}) {
        cells.push_back(number(value));
      }
    }
    cells.emplace_back(row.front ? "1" : "0");
    table.add_row(cells);
  }
  return table.csv();
}

std::string to_svg(const SweepReport& report) {
  LineChart chart;
  chart.title = report.metric.label + " against seconds of training";
  chart.x_title = "seconds (log scale); bars: ± standard error; line: the front in this plane";
  chart.y_title = report.metric.label + (report.metric.percent ? " %" : "");
  chart.log_x = true;
  chart.from_zero = false;
  LineSeries points{"points", {}, Stroke::kNone, 1, 0};
  LineSeries control{"bp of equal cost", {}, Stroke::kNone, 2, 1};
  for (const SweepRow& row : report.rows) {
    if (std::isfinite(row.score_mean) && row.seconds_mean > 0) {
      points.points.emplace_back(row.seconds_mean, row.score_mean);
      points.errors.push_back(std::isfinite(row.score_error) ? row.score_error : 0);
      points.labels.push_back(row.name);
    }
    if (row.bp && std::isfinite(row.bp->score_mean) && row.bp->seconds_mean > 0) {
      control.points.emplace_back(row.bp->seconds_mean, row.bp->score_mean);
      control.labels.push_back("of " + row.name);
    }
  }
  LineSeries front{"", {}, Stroke::kDashed, 0, 0};
  std::vector<std::pair<double, double>> sorted = points.points;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& point : sorted) {
    if (front.points.empty() || point.second > front.points.back().second) {
      front.points.push_back(point);
    }
  }
  chart.series = {front, points};
  if (!control.points.empty()) chart.series.push_back(control);
  return svg(chart);
}

}  // namespace adagp::report
