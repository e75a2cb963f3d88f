// Results of `adagp pipeline --json`: who is busy when.

#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/page/parts.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

using nlohmann::json;

constexpr size_t kMostCharts = 12, kMostBoxes = 4000;

std::string name_of(const json& run) {
  return core::cat(text_in(run, "schedule"), ", ", text_in(run, "stages"), " stages, ",
                   text_in(run, "micro_batches"), " micro-batches, ", text_in(run, "phases"));
}

double mean_in(const json& run, const char* key) {
  const json& list = inside(run, key);
  double sum = 0, count = 0;
  for (const json& value : list.is_array() ? list : json::array()) {
    if (value.is_number()) sum += value.get<double>(), ++count;
  }
  return count > 0 ? sum / count : NAN;
}

report::Table runs_table(const Results& results) {
  report::Table table({"<pipeline", "batches", "makespan", "utilisation",
                       "GP : BP = 1 : 1, speed-up", "training, speed-up"});
  for (const json& run : results.runs) {
    table.add_row({name_of(run), text_in(run, "batches"), text_in(run, "makespan"),
                   report::number_or_dash(100 * mean_in(run, "utilisation"), 1, " %"),
                   report::number_or_dash(number_in(run, "steady_speedup"), 3, "x"),
                   report::number_or_dash(number_in(inside(run, "training"), "speedup"), 3, "x")});
  }
  return table;
}

// Boxes that are none are left out.
report::GanttChart chart_of(const json& run) {
  report::GanttChart chart;
  chart.x_title = text_in(run, "unit");
  const double stages = number_in(run, "stages");
  const auto lanes = static_cast<size_t>(stages >= 1 && stages <= 1024 ? stages : 0);
  for (size_t i = 0; i < lanes; ++i) chart.lanes.push_back(core::cat("device ", i));
  for (const json& event : inside(run, "events")) {
    const bool whole = event.is_array() && event.size() == 5 && event[0].is_number_unsigned() &&
                       event[1].is_number() && event[2].is_number() && event[3].is_string() &&
                       event[4].is_string();
    if (!whole || event[0].get<uint64_t>() >= lanes || chart.boxes.size() == kMostBoxes) continue;
    const double start = event[1].get<double>(), end = event[2].get<double>();
    if (!std::isfinite(start) || !std::isfinite(end) || start < 0 || end < start) continue;
    chart.boxes.push_back({event[0].get<size_t>(), start, end, event[3].get<std::string>(),
                           event[4].get<std::string>()});
  }
  return chart;
}

void add_chart(Page& page, const json& run, const std::string& id) {
  const report::GanttChart chart = chart_of(run);
  if (chart.boxes.empty()) return;
  Figure figure;
  figure.id = id;
  figure.title = name_of(run);
  figure.about =
      "A line for each device; numbers are micro-batches. Gaps are bubbles: the device waits.";
  figure.svg = report::svg(chart, report::Use::kPage);
  figure.legend = report::legend_of(chart);
  report::Table table({"device", "busy", "utilisation", "peak stash"});
  const json &busy = inside(run, "busy"), &used = inside(run, "utilisation"),
             &stash = inside(run, "peak_stash");
  const auto cell = [](const json& list, size_t i) {
    return list.is_array() && i < list.size() && list[i].is_number()
               ? core::shortest(list[i].get<double>())
               : "-";
  };
  for (size_t i = 0; i < chart.lanes.size(); ++i) {
    table.add_row({core::cat(i), cell(busy, i), cell(used, i), cell(stash, i)});
  }
  figure.table = table.html("Devices");
  figure.data = {{"k", "static"}, {"of", id.substr(0, id.rfind('-'))}};
  page.add(figure);
}

}  // namespace

void add_pipelines(Page& page, const Results& results, const std::string& id) {
  page.body += heading(2, id, "Pipeline: " + results.source);
  page.add_table(runs_table(results).html("Pipelines"), "Pipelines");
  size_t charts = 0;
  for (const json& run : results.runs) {
    if (!inside(run, "events").is_array() || charts == kMostCharts) continue;
    add_chart(page, run, core::cat(id, "-", ++charts));
  }
  if (charts == 0) {
    page.body += "<p class=\"about\">No chart: give 'adagp pipeline' --gantt.</p>\n";
  }
}

}  // namespace adagp::page
