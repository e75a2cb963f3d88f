// Results of `adagp simulate --json`: cycles and energy by design, and rooflines.

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/page/parts.h"
#include "adagp/results/page/sections.h"

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

// Digits as people read them: 18 908 656, 27.38, 0.0031.
std::string readable(double value) {
  constexpr double kMostGrouped = 9e15;
  if (!std::isfinite(value) || std::abs(value) > kMostGrouped) {
    return report::number_or_dash(value, 0);
  }
  if (std::abs(value) >= 1000) return core::grouped(std::llround(value));
  return core::fixed(value, std::abs(value) >= 10 ? 2 : 4);
}

report::Table runs_table(const Results& results, const std::vector<std::string>& names) {
  report::Table table(
      {"<run", "<design", "cycles", "speed-up", "energy J", "energy ratio", "seconds"});
  for (size_t i = 0; i < results.runs.size(); ++i) {
    for (const std::string& design : designs_of(results)) {
      const json& one = design_in(results.runs[i], design);
      if (!one.is_object()) continue;
      table.add_row({names[i], design, readable(number_in(one, "total_cycles")),
                     report::number_or_dash(number_in(one, "speedup"), 3, "x"),
                     readable(number_in(one, "energy_j")),
                     report::number_or_dash(number_in(one, "energy_ratio"), 3),
                     readable(number_in(one, "seconds"))});
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
  figure.legend = report::legend_of(chart);
  page.add(figure);
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
  if (results.runs.size() > 1) add_sweep_roofline(page, results.runs, names, id + "-roof");
  size_t shown = 0, layered = 0;
  for (size_t i = 0; i < results.runs.size(); ++i) {
    if (!inside(results.runs[i], "layers").is_array()) continue;
    ++layered;
    if (shown == kMostRoofs) continue;
    if (add_layer_roofline(page, results.runs[i], names[i], core::cat(id, "-roof-", shown + 1))) {
      ++shown;
    }
  }
  std::string note;
  if (shown == 0) note = "No roofline: give 'adagp simulate' --per-layer.";
  if (shown < layered && shown == kMostRoofs) {
    note = core::cat("Layers of the first ", shown, " of ", layered, " runs.");
  }
  if (!note.empty()) page.body += "<p class=\"about\">" + safe(note) + "</p>\n";
}

}  // namespace adagp::page
