#include "adagp/results/report/probe_report.h"

#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

// MSE / mean(g^2).
double relative_mse(const LayerProbe& probe) {
  return probe.relative_error * probe.relative_error;
}
double mse_of(const LayerProbe& probe) {
  return probe.mse;
}
double cosine_of(const LayerProbe& probe) {
  return probe.cosine;
}
double mape_of(const LayerProbe& probe) {
  return probe.mape;
}

using ReadProbe = double (*)(const LayerProbe&);

size_t layer_count(const std::vector<EpochHistory>& history) {
  size_t out = 0;
  for (const EpochHistory& epoch : history) out = std::max(out, epoch.layers.size());
  return out;
}

// Epoch (from 1) and value, where there is one.
std::vector<std::pair<double, double>> curve_of(const std::vector<EpochHistory>& history,
                                                size_t layer, ReadProbe read) {
  std::vector<std::pair<double, double>> out;
  for (const EpochHistory& epoch : history) {
    if (layer >= epoch.layers.size()) continue;
    const double value = read(epoch.layers[layer]);
    if (std::isfinite(value)) out.emplace_back(static_cast<double>(epoch.epoch + 1), value);
  }
  return out;
}

std::string scientific(double value) {
  std::ostringstream out;
  out.precision(2);
  out << value;
  return out.str();
}

std::string first_and_last(const std::vector<std::pair<double, double>>& curve, bool small) {
  if (curve.empty()) return "-";
  const auto text = [&](double value) { return small ? scientific(value) : core::fixed(value, 3); };
  return text(curve.front().second) + " -> " + text(curve.back().second);
}

// Means over the layers of the first and the last value.
std::pair<double, double> mean_ends(const std::vector<EpochHistory>& history, ReadProbe read) {
  std::vector<double> first, last;
  for (size_t layer = 0; layer < layer_count(history); ++layer) {
    const auto curve = curve_of(history, layer, read);
    if (curve.empty()) continue;
    first.push_back(curve.front().second);
    last.push_back(curve.back().second);
  }
  return {mean(first), mean(last)};
}

}  // namespace

std::string probe_table(const std::vector<EpochHistory>& history, bool markdown) {
  Table table({"layer", "MSE", "MSE / mean(g^2)", "cosine", "MAPE %"});
  for (size_t layer = 0; layer < layer_count(history); ++layer) {
    table.add_row({core::cat(layer + 1), first_and_last(curve_of(history, layer, mse_of), true),
                   first_and_last(curve_of(history, layer, relative_mse), false),
                   first_and_last(curve_of(history, layer, cosine_of), false),
                   first_and_last(curve_of(history, layer, mape_of), false)});
  }
  return markdown ? table.markdown() : table.console();
}

std::string probe_note(const std::vector<EpochHistory>& history) {
  if (layer_count(history) == 0) return "The run has no probes (probe_every).";
  const auto [mse_first, mse_last] = mean_ends(history, mse_of);
  const auto [relative_first, relative_last] = mean_ends(history, relative_mse);
  const auto [cosine_first, cosine_last] = mean_ends(history, cosine_of);
  return core::cat("From the first to the last probe, mean over the layers: MSE ",
                   scientific(mse_first), " -> ", scientific(mse_last), ", MSE / mean(g^2) ",
                   core::fixed(relative_first, 3), " -> ", core::fixed(relative_last, 3),
                   " (1: as good as predicting zero), cosine ", core::fixed(cosine_first, 3),
                   " -> ", core::fixed(cosine_last, 3),
                   " (0: unrelated, 1: the true direction). An MSE alone moves with the size of "
                   "the gradients, whatever the predictor does.");
}

std::string probe_json(const std::vector<EpochHistory>& history) {
  nlohmann::ordered_json out;
  out["layers"] = nlohmann::ordered_json::array();
  for (size_t layer = 0; layer < layer_count(history); ++layer) {
    nlohmann::ordered_json one;
    for (const EpochHistory& epoch : history) {
      if (layer >= epoch.layers.size()) continue;
      const LayerProbe& probe = epoch.layers[layer];
      one["epoch"].push_back(epoch.epoch + 1);
      one["mse"].push_back(probe.mse);
      one["relative_mse"].push_back(relative_mse(probe));
      one["cosine"].push_back(probe.cosine);
      one["mape"].push_back(probe.mape);
    }
    out["layers"].push_back(one);
  }
  return out.dump(2) + "\n";
}

std::vector<std::pair<std::string, LineChart>> probe_charts(
    const std::vector<EpochHistory>& history, const std::string& prefix, const std::string& title) {
  struct Kind {
    const char* name;
    const char* label;
    ReadProbe read;
  };
  std::vector<std::pair<std::string, LineChart>> out;
  for (const Kind& kind :
       {Kind{"mse", "MSE", mse_of},
        Kind{"relative-mse", "MSE / mean(g^2); 1 = predicting zero", relative_mse},
        Kind{"cosine", "cosine with the true gradient", cosine_of}}) {
    LineChart chart;
    chart.title = title;
    chart.x_title = "epoch";
    chart.y_title = kind.label;
    for (size_t layer = 0; layer < layer_count(history); ++layer) {
      LineSeries series;
      series.name = core::cat("layer ", layer + 1);
      series.points = curve_of(history, layer, kind.read);
      series.marker = series.points.size() == 1 ? 1 : 0;
      if (!series.points.empty()) chart.series.push_back(series);
    }
    if (!chart.series.empty()) out.emplace_back(core::cat(prefix, "-", kind.name), chart);
  }
  return out;
}

std::vector<std::pair<std::string, LineChart>> loss_charts(const std::vector<EpochHistory>& history,
                                                           const std::string& prefix,
                                                           const std::string& title) {
  LineSeries network, predictor;
  network.name = "network, training loss";
  predictor.name = "predictor";
  for (const EpochHistory& epoch : history) {
    const auto x = static_cast<double>(epoch.epoch + 1);
    if (std::isfinite(epoch.train_loss)) network.points.emplace_back(x, epoch.train_loss);
    if (epoch.predictor_loss && std::isfinite(*epoch.predictor_loss)) {
      predictor.points.emplace_back(x, *epoch.predictor_loss);
    }
  }
  LineChart chart;
  chart.title = title;
  chart.x_title = "epoch";
  chart.y_title = "loss";
  for (const LineSeries& series : {network, predictor}) {
    if (!series.points.empty()) chart.series.push_back(series);
  }
  if (chart.series.empty()) return {};
  return {{prefix + "-loss", chart}};
}

}  // namespace adagp::report
