// Training runs on accelerators as a picture: two panels for each network and machine.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/run_costs_rows.h"
#include "adagp/results/report/chart.h"

namespace adagp::study {
namespace {

// The rows of a panel: one network on one machine.
struct Panel {
  std::string name;
  std::vector<const SeedRow*> rows;
};

// How a run was trained: the other places are what it was trained on and where.
bool of_training(const RunPlace& place) {
  const std::string title = place.title;
  return title == "batch" || title == "precision";
}

// "resnet18, ws": the network and the dataflow, and what else varies.
std::vector<RunPlace> places_of_panels(const std::vector<RunPlace>& varying) {
  std::vector<RunPlace> out;
  for (const RunPlace& place : run_places()) {
    const std::string title = place.title;
    const bool varies =
        std::ranges::any_of(varying, [&](const RunPlace& one) { return one.title == title; });
    if (title == "model" || title == "dataflow" || (varies && !of_training(place))) {
      out.push_back(place);
    }
  }
  return out;
}

std::vector<Panel> panels_of(const std::vector<SeedRow>& rows,
                             const std::vector<RunPlace>& varying) {
  std::vector<Panel> panels;
  for (const SeedRow& row : rows) {
    std::vector<std::string> words;
    for (const RunPlace& place : places_of_panels(varying)) {
      words.push_back(place.of(*row.run, *row.cost));
    }
    const std::string name = core::join(words, ", ");
    auto panel = std::ranges::find(panels, name, &Panel::name);
    if (panel == panels.end()) panel = panels.insert(panels.end(), {name, {}});
    panel->rows.push_back(&row);
  }
  return panels;
}

// "adagp efficient, batch 512": the design of a run that predicts, and what varies in the training.
std::string in_full(std::string name, const SeedRow& row, const std::vector<RunPlace>& varying) {
  if (row.cost->design->predicts) name += core::cat(" ", row.cost->design->name);
  for (const RunPlace& place : varying) {
    if (of_training(place))
      name += core::cat(", ", place.title, " ", place.of(*row.run, *row.cost));
  }
  return name;
}

// The method; the run's own name where its method has another run of that length, or one with other
// settings: a line joins lengths of one experiment alone.
std::string series_of(const SeedRow& row, const Panel& panel,
                      const std::vector<RunPlace>& varying) {
  const std::string method = in_full(row.run->method, row, varying);
  const auto like_it = std::ranges::count_if(panel.rows, [&](const SeedRow* other) {
    return in_full(other->run->method, *other, varying) == method &&
           (other->run->epochs == row.run->epochs || other->run->settings != row.run->settings);
  });
  return like_it > 1 ? in_full(row.name, row, varying) : method;
}

// Lengths of a method in the order of their costs: "bp, 8 and 15 epochs".
std::string with_lengths(const std::string& name, const std::vector<const SeedRow*>& rows) {
  std::string text = name;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += core::cat(i == 0 ? ", " : i + 1 == rows.size() ? " and " : ", ", rows[i]->run->epochs);
  }
  return text + (rows.back()->run->epochs == 1 ? " epoch" : " epochs");
}

report::LineChart chart_of(const Panel& panel, const std::vector<RunPlace>& varying,
                           const std::string& metric, const std::string& what, double SeedRow::*x) {
  report::LineChart chart;
  chart.title = core::cat(panel.name, ": ", metric, " against ", what);
  chart.x_title = what;
  chart.y_title = metric;
  chart.from_zero = false;
  std::vector<std::pair<std::string, std::vector<const SeedRow*>>> series;
  bool seeds = false;
  for (const SeedRow* row : panel.rows) {
    if (!row->score) throw UsageError("--plot: " + row->name + " has no score");
    seeds = seeds || row->seeds.size() > 1;
    const std::string name = series_of(*row, panel, varying);
    auto one = std::ranges::find_if(series, [&](const auto& each) {
      return each.first == name && each.second.front()->run->settings == row->run->settings;
    });
    if (one == series.end()) one = series.insert(series.end(), {name, {}});
    one->second.push_back(row);
  }
  if (seeds) chart.y_title += ", mean; bars: ± sd of the seeds";
  for (auto& [name, rows] : series) {
    std::ranges::stable_sort(rows, {}, [&](const SeedRow* row) { return row->*x; });
    report::LineSeries line{.name = with_lengths(name, rows)};
    line.stroke = rows.size() > 1 ? report::Stroke::kDashed : report::Stroke::kNone;
    line.marker = 1 + static_cast<int>(chart.series.size() / report::colour_count());
    for (const SeedRow* row : rows) {
      line.points.emplace_back(row->*x, *row->score);
      line.errors.push_back(row->seeds.size() > 1 ? row->score_sd : 0);
      line.labels.push_back(row->name);
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

}  // namespace

std::string run_cost_picture(const std::vector<TrainingRun>& runs,
                             const std::vector<RunCost>& costs) {
  const std::vector<SeedRow> rows = over_seeds(runs, costs);
  const std::string metric = metric_of(runs);
  std::vector<std::string> pictures;
  const std::vector<RunPlace> varying = varying_places(runs, costs);
  for (const Panel& panel : panels_of(rows, varying)) {
    pictures.push_back(svg(chart_of(panel, varying, metric, "total cycles", &SeedRow::cycles)));
    pictures.push_back(svg(chart_of(panel, varying, metric, "energy (J)", &SeedRow::joules)));
  }
  return report::below_each_other(pictures);
}

}  // namespace adagp::study
