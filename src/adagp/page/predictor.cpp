// Quality of predicted gradients by layer, over a run.

#include <algorithm>
#include <cmath>

#include "adagp/core/text.h"
#include "adagp/page/sections.h"

namespace adagp::page {
namespace {

using report::Probe;
using report::RunFiles;

constexpr size_t kMostMaps = 8;
constexpr size_t kMostLayers = 120;

struct ProbeFigure {
  Probe probe;
  const char *key, *title;
  double even;  // where a prediction is as good as it gets, or as good as nothing
};
constexpr ProbeFigure kProbes[] = {
    {Probe::kCosine, "cosine", "cosine of predicted and true gradient", 0},
    {Probe::kQ, "q", "q: progress along the prediction / along the true gradient", 1},
    {Probe::kBias, "bias", "bias: cosine of the mean gradients", 0},
    {Probe::kNormRatio, "norm", "norm of the prediction / norm of the true gradient", 1},
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
  report::Table table(
      {{"layer", report::Align::kLeft}, {"cosine"}, {"q"}, {"bias"}, {"norm ratio"}});
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

void add_map(Page& page, const Family& family, const RunFiles& run, const std::string& id) {
  size_t layers = 0;
  report::HeatMap map;
  map.x_title = "batches";
  for (const report::ProbeRecord& record : run.metrics.probes) {
    layers = std::max(layers, record.layers.size());
    map.columns.push_back(static_cast<double>(record.step));
  }
  layers = std::min(layers, kMostLayers);
  for (size_t layer = 0; layer < layers; ++layer) {
    map.rows.push_back(layer_name(run, layer, run.metrics.probes.back().layers.size()));
  }
  Figure figure;
  figure.data = {
      {"k", "heat"}, {"rows", map.rows}, {"x", rounded(map.columns)}, {"y", Json::array()}};
  for (const ProbeFigure& probe : kProbes) {
    const auto values = values_of(run, probe.probe, layers);
    const double limit = limit_of(values);
    Json rows = Json::array();
    for (const auto& row : values) rows.push_back(rounded(row));
    figure.data["y"].push_back({{"key", probe.key},
                                {"title", probe.title},
                                {"limit", limit},
                                {"even", probe.even},
                                {"v", rows}});
    if (probe.probe != Probe::kCosine) continue;
    map.values = values;
    map.limit = limit;
  }
  figure.id = id;
  figure.title =
      core::cat("Cosine of predicted and true gradients: ", family.label, ", seed ", run.seed());
  figure.about = core::cat("A row for each layer, a column for each of ", map.columns.size(),
                           " probes. Blue: above 0, the prediction points the right way; orange: "
                           "below 0; the paler, the "
                           "nearer to 0. The strongest colour is ",
                           core::shortest(map.limit), " and more.");
  figure.svg = report::svg(map, report::Use::kPage);
  figure.table = last_table(run, map.rows);
  page.add(figure);
}

}  // namespace

void add_predictor(Page& page, const Group& group, const std::string& id) {
  size_t maps = 0;
  for (const Family& family : families_of(group)) {
    const auto with_probes =
        std::find_if(family.runs.begin(), family.runs.end(),
                     [](const RunFiles* run) { return !run->metrics.probes.empty(); });
    if (with_probes == family.runs.end()) continue;
    if (maps == 0) page.body += heading(3, id + "-predictor", "Predicted gradients by layer");
    if (maps++ == kMostMaps) {
      page.body += core::cat("<p>Only the first ", kMostMaps, " methods are drawn.</p>\n");
      return;
    }
    add_map(page, family, **with_probes, core::cat(id, "-probes-", maps));
  }
}

}  // namespace adagp::page
