// Results of `adagp simulate --json`: cycles and energy by design, and the roofline of the layers.

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/core/text.h"
#include "adagp/page/json_read.h"
#include "adagp/page/line_figure.h"
#include "adagp/page/sections.h"

namespace adagp::page {
namespace {

using nlohmann::json;

constexpr size_t kMostBars = 40;
constexpr size_t kMostRoofs = 6;

// What tells the runs of a sweep apart.
std::vector<std::string> names_of(const Results& results) {
  std::vector<std::string> out(results.runs.size());
  for (const char* key : {"model", "input", "batch", "accelerator", "array", "dataflow"}) {
    const std::string first = text_in(results.runs[0], key);
    const bool varies = std::any_of(results.runs.begin(), results.runs.end(),
                                    [&](const json& run) { return text_in(run, key) != first; });
    const bool always = std::string(key) == "model";
    if (!varies && !always) continue;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] += (out[i].empty() ? "" : " ") + text_in(results.runs[i], key);
    }
  }
  return out;
}

// {"baseline", ...}, or {"forward pass"} of inference.
std::vector<std::string> designs_of(const Results& results) {
  std::vector<std::string> out;
  for (const json& run : results.runs) {
    const json& designs = inside(run, "designs");
    if (!designs.is_object()) continue;
    for (const auto& entry : designs.items()) {
      if (std::find(out.begin(), out.end(), entry.key()) == out.end()) out.push_back(entry.key());
    }
  }
  // JSON has them by name; the paper's order is what readers know.
  const std::vector<std::string> order = {"baseline", "low", "efficient", "max"};
  std::stable_sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) {
    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
  });
  if (out.empty()) out.emplace_back("forward pass");
  return out;
}

const json& design_in(const json& run, const std::string& design) {
  const json& designs = inside(run, "designs");
  return designs.is_object() ? inside(designs, design.c_str()) : inside(run, "total");
}

report::Table runs_table(const Results& results, const std::vector<std::string>& names) {
  report::Table table({{"run", report::Align::kLeft},
                       {"design", report::Align::kLeft},
                       {"cycles"},
                       {"speed-up"},
                       {"energy J"},
                       {"energy ratio"},
                       {"seconds"}});
  for (size_t i = 0; i < results.runs.size(); ++i) {
    for (const std::string& design : designs_of(results)) {
      const json& one = design_in(results.runs[i], design);
      if (!one.is_object()) continue;
      table.add_row({names[i], design, report::number_or_dash(number_in(one, "total_cycles"), 0),
                     report::number_or_dash(number_in(one, "speedup"), 3, "x"),
                     report::number_or_dash(number_in(one, "energy_j"), 4),
                     report::number_or_dash(number_in(one, "energy_ratio"), 3),
                     report::number_or_dash(number_in(one, "seconds"), 2)});
    }
  }
  return table;
}

void add_bars(Page& page, const Results& results, const std::vector<std::string>& names,
              const std::string& id, const char* key, const std::string& title) {
  report::BarChart chart;
  chart.y_title = title;
  const size_t shown = std::min(names.size(), kMostBars);
  int stack = 0;
  for (const std::string& design : designs_of(results)) {
    report::BarSeries series{design, {}, stack++};
    for (size_t i = 0; i < shown; ++i) {
      const double value = number_in(design_in(results.runs[i], design), key);
      series.values.push_back(std::isfinite(value) && value >= 0 ? value : 0);
    }
    chart.series.push_back(std::move(series));
  }
  chart.categories.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  Figure figure;
  figure.id = id;
  figure.title = title + " by design";
  if (shown < names.size()) {
    figure.about =
        core::cat("The first ", shown, " of ", names.size(), " runs; the table has all.");
  }
  figure.svg = report::svg(chart, report::Use::kPage);
  std::vector<std::string> designs;
  for (const auto& series : chart.series) designs.push_back(series.name);
  figure.legend = report::boxes_of(designs);
  figure.data = {{"k", "static"}};
  page.add(figure);
}

// A point for each layer and pass: what it computes for a word it moves, and how fast.
void add_roofline(Page& page, const json& run, const std::string& name, const std::string& id) {
  std::map<std::string, Line> passes;
  double least = INFINITY, most = 0;
  report::Table table({{"layer", report::Align::kLeft},
                       {"pass", report::Align::kLeft},
                       {"MACs / DRAM word"},
                       {"MACs / cycle"}});
  for (const json& layer : inside(run, "layers")) {
    const json& of_layer = inside(layer, "passes");
    if (!of_layer.is_object()) continue;
    for (const auto& [pass, cost] : of_layer.items()) {
      const double macs = number_in(cost, "macs");
      const double x = macs / number_in(cost, "dram_words"), y = macs / number_in(cost, "cycles");
      if (!std::isfinite(x) || !std::isfinite(y) || x <= 0 || y <= 0) continue;
      Line& line = passes[pass];
      line.x["intensity"].push_back(x);
      line.y["rate"].value.push_back(y);
      line.labels.push_back(text_in(layer, "name"));
      least = std::min(least, x);
      most = std::max(most, x);
      table.add_row({text_in(layer, "name"), pass, core::fixed(x, 3), core::fixed(y, 3)});
    }
  }
  const double peak = number_in(inside(run, "roof"), "macs_per_cycle");
  const double words = number_in(inside(run, "roof"), "dram_words_per_cycle");
  if (passes.empty() || !(peak > 0)) return;
  LineFigure figure;
  Line roof;
  roof.name =
      std::isfinite(words) ? "roof: PEs and DRAM bandwidth" : "roof: PEs (no bandwidth set)";
  roof.style = 6;
  const double ridge = std::isfinite(words) && words > 0 ? peak / words : 0;
  std::vector<double> corners = {least, most};
  if (ridge > least && ridge < most) corners.insert(corners.begin() + 1, ridge);
  for (const double x : corners) {
    roof.x["intensity"].push_back(x);
    roof.y["rate"].value.push_back(ridge > 0 ? std::min(peak, x * words) : peak);
  }
  figure.lines.push_back(roof);
  int marker = 1;
  for (auto& [pass, line] : passes) {
    line.name = pass;
    line.style = static_cast<size_t>(marker - 1);
    line.marker = marker++;
    line.stroke = report::Stroke::kNone;
    figure.lines.push_back(line);
  }
  figure.id = id;
  figure.title = "Roofline of " + name;
  figure.about =
      "A point for each layer and pass of one batch. Right: more arithmetic for each word of DRAM "
      "traffic. Up: more multiplications in a cycle, stalls included. The roof is what the array "
      "and the memory allow.";
  figure.x_axes = {{"intensity", "MACs for a word from or to DRAM (log scale)"}};
  figure.y_axes = {{"rate", "MACs in a cycle (log scale)"}};
  figure.log_x = figure.log_y = true;
  figure.table = table.html("Layers and passes");
  add_lines(page, figure);
}

}  // namespace

void add_simulation(Page& page, const Results& results, const std::string& id) {
  page.body += heading(2, id, "Accelerator: " + results.source);
  const auto names = names_of(results);
  const json& first = results.runs[0];
  page.body +=
      "<p>" +
      safe(core::cat(results.runs.size(), results.runs.size() == 1 ? " run" : " runs", "; ",
                     text_in(first, "accelerator"), ", schedule ", text_in(first, "schedule"), ", ",
                     text_in(first, "epochs"), " epochs")) +
      "</p>\n";
  page.add_table(runs_table(results, names).html("Designs"), "Designs");
  add_bars(page, results, names, id + "-cycles", "total_cycles", "Cycles");
  add_bars(page, results, names, id + "-energy", "energy_j", "Energy, joules");
  size_t roofs = 0;
  for (size_t i = 0; i < results.runs.size() && roofs < kMostRoofs; ++i) {
    if (!inside(results.runs[i], "layers").is_array()) continue;
    add_roofline(page, results.runs[i], names[i], core::cat(id, "-roof-", ++roofs));
  }
  if (roofs == 0) {
    page.body += "<p class=\"about\">No roofline: give 'adagp simulate' --per-layer.</p>\n";
  }
}

}  // namespace adagp::page
