#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;
using report::Align;

// Speed-ups with three digits, cycles with five significant ones.
std::string figure_text(double value) {
  if (std::fabs(value) < 1000) return core::fixed(value, 3);
  std::ostringstream out;
  out.precision(5);
  out << value;
  return out.str();
}

std::string paper_name(const std::string& model) {
  for (const PaperNetwork& network : kPaperNetworks) {
    if (model == network.model) return network.name;
  }
  return model;
}

std::string comparison_table(const PaperResult& result) {
  report::Table table({{"where", Align::kLeft},
                       {"what", Align::kLeft},
                       {"paper"},
                       {"ours"},
                       {"ours/paper"},
                       {"note"}});
  std::vector<std::string> notes;
  for (const Comparison& one : result.comparisons) {
    std::string mark;
    if (!one.note.empty()) {
      size_t at = 0;
      while (at < notes.size() && notes[at] != one.note) ++at;
      if (at == notes.size()) notes.push_back(one.note);
      mark = core::cat("[", at + 1, "]");
    }
    const auto ratio = one.ratio();
    table.add_row({one.place, one.what, one.published ? figure_text(*one.published) : "",
                   figure_text(one.ours), ratio ? core::fixed(*ratio, 3) : "", mark});
  }
  std::string text = table.console() + "\n";
  for (size_t i = 0; i < notes.size(); ++i) text += core::cat("[", i + 1, "] ", notes[i], "\n");
  return text;
}

std::string network_table(const PaperResult& result) {
  report::Table table({{"network", Align::kLeft},
                       {"input", Align::kLeft},
                       {"dataflow", Align::kLeft},
                       {"LOW (x)"},
                       {"Efficient (x)"},
                       {"MAX (x)"},
                       {"BW/FW"},
                       {"bound (x)"},
                       {"MAX memory energy ratio"},
                       {"MAX energy ratio"}});
  for (const NetworkResult& one : result.networks) {
    table.add_row({paper_name(one.network), one.input, one.dataflow, core::fixed(one.low, 3),
                   core::fixed(one.efficient, 3), core::fixed(one.max, 3),
                   core::fixed(one.backward_over_forward, 3), core::fixed(one.bound, 3),
                   core::fixed(one.memory_energy, 3), core::fixed(one.energy, 3)});
  }
  return table.console();
}

std::string layer_lines(const PaperResult& result) {
  report::Table table({{"Fig. 16: VGG13, CIFAR-10, ws", Align::kLeft},
                       {"baseline (cycles)"},
                       {"Efficient warm-up (cycles)"},
                       {"Efficient BP (cycles)"},
                       {"Efficient GP (cycles)"}});
  for (const LayerPhases& layer : result.layers) {
    table.add_row({layer.layer, figure_text(layer.baseline), figure_text(layer.warm_up),
                   figure_text(layer.backprop), figure_text(layer.predict)});
  }
  return table.console();
}

}  // namespace

std::string paper_text(const PaperResult& result, bool per_network) {
  std::string text = layer_lines(result) + "\n";
  if (per_network) text += network_table(result) + "\n";
  text += comparison_table(result) + "\n" + resource_table(result);
  if (!result.absent.empty()) {
    text += "Without a layer table here, and left out of the means: " +
            core::join(result.absent, ", ") + "\n";
  }
  for (const auto& remark : result.remarks) text += remark + "\n";
  return text;
}

std::string paper_json(const PaperResult& result) {
  ordered_json out;
  out["comparisons"] = ordered_json::array();
  for (const Comparison& one : result.comparisons) {
    ordered_json row = {{"where", one.place}, {"what", one.what}};
    row["published"] = one.published ? ordered_json(*one.published) : ordered_json(nullptr);
    row["ours"] = one.ours;
    const auto ratio = one.ratio();
    row["ratio"] = ratio ? ordered_json(*ratio) : ordered_json(nullptr);
    if (!one.note.empty()) row["note"] = one.note;
    out["comparisons"].push_back(std::move(row));
  }
  out["networks"] = ordered_json::array();
  for (const NetworkResult& one : result.networks) {
    out["networks"].push_back({{"network", one.network},
                               {"input", one.input},
                               {"dataflow", one.dataflow},
                               {"low", one.low},
                               {"efficient", one.efficient},
                               {"max", one.max},
                               {"backward_over_forward", one.backward_over_forward},
                               {"bound", one.bound},
                               {"memory_energy_ratio", one.memory_energy},
                               {"energy_ratio", one.energy}});
  }
  out["layers"] = ordered_json::array();
  for (const LayerPhases& layer : result.layers) {
    out["layers"].push_back({{"name", layer.layer},
                             {"baseline_cycles", layer.baseline},
                             {"warm_up_cycles", layer.warm_up},
                             {"bp_cycles", layer.backprop},
                             {"gp_cycles", layer.predict}});
  }
  out["resources"] = ordered_json::array();
  for (const ResourceRow& row : result.resources) {
    ordered_json one = {{"where", row.place}, {"what", row.what}, {"unit", row.unit}};
    one["derived"] = row.derived;
    for (size_t i = 0; i < kResourceDesigns.size(); ++i) one[kResourceDesigns[i]] = row.values[i];
    for (size_t i = 1; i < kResourceDesigns.size(); ++i) {
      one[core::cat(kResourceDesigns[i], "_increment_percent")] = row.increment(i);
    }
    out["resources"].push_back(std::move(one));
  }
  out["resource_notes"] = result.resource_notes;
  out["absent"] = result.absent;
  out["remarks"] = result.remarks;
  return dump(out, 2) + "\n";
}

std::vector<std::pair<std::string, report::BarChart>> paper_charts(const PaperResult& result) {
  std::vector<std::pair<std::string, report::BarChart>> charts;
  if (!result.layers.empty()) {
    report::BarChart chart{
        "Fig. 16: VGG13, CIFAR-10, ws, design Efficient", "layer", "cycles", {}, {}, 0};
    report::BarSeries series[] = {
        {"original", {}, 0}, {"warm-up", {}, 1}, {"phase BP", {}, 1}, {"phase GP", {}, 1}};
    for (const LayerPhases& layer : result.layers) {
      chart.categories.push_back(layer.layer);
      series[0].values.push_back(layer.baseline);
      series[1].values.push_back(layer.warm_up);
      series[2].values.push_back(layer.backprop);
      series[3].values.push_back(layer.predict);
    }
    chart.series.assign(std::begin(series), std::end(series));
    charts.emplace_back("fig16.svg", std::move(chart));
  }
  for (const SpeedupFigure& figure : kSpeedups) {
    report::BarChart chart{
        std::string(figure.place) + ": speed-up over the baseline, " + figure.dataflow,
        "network and data set",
        "speed-up",
        {},
        {},
        1};
    report::BarSeries low{"LOW", {}, 0}, efficient{"Efficient", {}, 1}, max{"MAX", {}, 2};
    for (const NetworkResult& one : result.networks) {
      if (one.dataflow != figure.dataflow) continue;
      chart.categories.push_back(paper_name(one.network) + " " + one.input);
      low.values.push_back(one.low);
      efficient.values.push_back(one.efficient);
      max.values.push_back(one.max);
    }
    if (chart.categories.empty()) continue;
    chart.series = {low, efficient, max};
    const std::string number = std::string(figure.place).substr(5);
    charts.emplace_back("fig" + number + ".svg", std::move(chart));
  }
  return charts;
}

}  // namespace adagp::study
