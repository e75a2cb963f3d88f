// Quality of predicted gradients by layer, over a run.

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

using report::Probe;
using report::RunFiles;

constexpr size_t kMostMaps = 8;
constexpr size_t kMostLayers = 120;

struct ProbeFigure {
  Probe probe;
  const char *key, *title, *about;
  double even;  // a line in the curve of a layer
};
constexpr ProbeFigure kProbes[] = {
    {Probe::kCosine, "cosine", "Cosine of predicted and true gradients",
     "1: the same direction; 0: nothing in common.", 0},
    {Probe::kQ, "q", "q of predicted gradients",
     "A step along the prediction lowers the loss q times as much as one along the true gradient: "
     "1 "
     "is as good as backprop, 0 is nothing.",
     1},
    {Probe::kBias, "bias", "Bias: cosine of the mean gradients",
     "Over many batches: 1: right on average; 0: what is left after averaging has nothing in "
     "common.",
     0},
    {Probe::kNormRatio, "norm", "Norm of predicted / norm of true gradients", "1: equally long.",
     1},
};

std::string layer_name(const RunFiles& run, size_t layer, size_t layers) {
  return run.layers.size() == layers ? run.layers[layer] : core::cat("layer ", layer);
}

std::vector<std::vector<double>> values_of(const RunFiles& run, Probe probe, size_t layers) {
  std::vector<std::vector<double>> out(layers);
  for (size_t layer = 0; layer < layers; ++layer) {
    for (const report::ProbeRecord& record : run.metrics.probes) {
      out[layer].push_back(layer < record.layers.size() ? record.at(layer, probe) : NAN);
    }
  }
  return out;
}

// The largest of the values, but for one in twenty: a single outlier would leave the rest pale.
double limit_of(const std::vector<std::vector<double>>& values) {
  std::vector<double> sizes;
  for (const auto& row : values) {
    for (const double value : row) {
      if (std::isfinite(value)) sizes.push_back(std::abs(value));
    }
  }
  if (sizes.empty()) return 1;
  const auto place = static_cast<std::ptrdiff_t>((sizes.size() - 1) * 19 / 20);
  std::nth_element(sizes.begin(), sizes.begin() + place, sizes.end());
  const double found = sizes[static_cast<size_t>(place)];
  return found > 0 ? rounded(found).get<double>() : 1;
}

std::string last_table(const RunFiles& run, const std::vector<std::string>& names) {
  report::Table table({"<layer", "cosine", "q", "bias", "norm ratio"});
  const report::ProbeRecord& last = run.metrics.probes.back();
  for (size_t layer = 0; layer < std::min(names.size(), last.layers.size()); ++layer) {
    std::vector<std::string> cells = {names[layer]};
    for (const ProbeFigure& figure : kProbes) {
      cells.push_back(report::number_or_dash(last.at(layer, figure.probe), 4));
    }
    table.add_row(cells);
  }
  return table.html(core::cat("Quality at batch ", last.step));
}

// The script draws a layer's curve here.
std::string curve_place(const std::string& id, const std::string& title) {
  return "<figure class=\"chart\" hidden id=\"" + id +
         "-layer\"><figcaption></figcaption><div class=\"plot\" tabindex=\"0\" role=\"img\" "
         "aria-label=\"" +
         safe(title + " of one layer") +
         "\"><svg aria-hidden=\"true\" class=\"fink\" viewBox=\"0 0 718 396\" "
         "width=\"718\"></svg></div></figure>\n";
}

// The layers' names; empty when no probe has a number.
std::vector<std::string> layer_names(const RunFiles& run) {
  size_t layers = 0;
  bool any = false;
  for (const report::ProbeRecord& record : run.metrics.probes) {
    layers = std::max(layers, record.layers.size());
    for (size_t i = 0; i < record.layers.size(); ++i) {
      any = any || std::isfinite(record.at(i, Probe::kCosine));
    }
  }
  std::vector<std::string> out;
  for (size_t layer = 0; any && layer < std::min(layers, kMostLayers); ++layer) {
    out.push_back(layer_name(run, layer, layers));
  }
  return out;
}

void add_map(Page& page, const RunFiles& run, const report::HeatMap& empty,
             const ProbeFigure& probe, const std::string& what, const std::string& id) {
  report::HeatMap map = empty;
  map.values = values_of(run, probe.probe, map.rows.size());
  map.limit = limit_of(map.values);
  Json rows = Json::array();
  for (const auto& row : map.values) rows.push_back(rounded(row));
  Figure figure;
  figure.id = id + "-" + probe.key;
  figure.title = std::string(probe.title) + ", " + what;
  figure.data = {
      {"k", "heat"},          {"of", id},           {"rows", map.rows}, {"x", rounded(map.columns)},
      {"title", probe.title}, {"even", probe.even}, {"v", rows}};
  figure.about = core::cat("A row for each layer, a column for each of ", map.columns.size(),
                           " probes. Blue: above 0; orange: below 0; the paler, the nearer to 0. "
                           "The strongest colour is ",
                           core::shortest(map.limit), " and more. ", probe.about);
  figure.svg = report::svg(map, report::Use::kPage);
  figure.table = last_table(run, map.rows);
  page.add(figure);
  page.body += curve_place(figure.id, figure.title);
}

}  // namespace

void add_predictor(Page& page, const Group& group, const std::string& id) {
  size_t maps = 0;
  for (const Family& family : families_of(group)) {
    const auto with_probes =
        std::find_if(family.runs.begin(), family.runs.end(),
                     [](const RunFiles* run) { return !run->metrics.probes.empty(); });
    if (with_probes == family.runs.end()) continue;
    const RunFiles& run = **with_probes;
    report::HeatMap map;
    map.x_title = "batches";
    map.rows = layer_names(run);
    if (map.rows.empty()) continue;
    for (const report::ProbeRecord& record : run.metrics.probes) {
      map.columns.push_back(static_cast<double>(record.step));
    }
    if (maps == 0) page.body += heading(3, id + "-predictor", "Predicted gradients by layer");
    if (maps++ == kMostMaps) {
      page.body += core::cat("<p>Only the first ", kMostMaps, " methods are drawn.</p>\n");
      return;
    }
    for (const ProbeFigure& probe : kProbes) {
      add_map(page, run, map, probe, core::cat(family.label, ", seed ", run.seed()),
              core::cat(id, "-probes-", maps));
    }
  }
}

}  // namespace adagp::page
