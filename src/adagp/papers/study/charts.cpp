#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/details.h"

namespace adagp::study {
namespace {

constexpr size_t kMostDrawn = 200;  // runs side by side
constexpr size_t kMostFronts = 40;  // lines of a legend

std::string axis_title(const std::string& value) {
  return value == "cycles" ? "total cycles"
         : value == "time" ? "time (s)"
         : value == "pes"  ? "PEs"
                           : "energy (J)";
}

}  // namespace

report::LineChart front_chart(const Study& study, const std::vector<Front>& fronts,
                              const std::string& values) {
  if (fronts.size() > kMostFronts) {
    throw UsageError(core::cat("--plot: ", fronts.size(), " networks, at most ", kMostFronts,
                               " fit into a picture; give fewer with --model"));
  }
  const auto names = core::split(values, ',');
  const auto places = labels(study);
  report::LineChart chart;
  chart.title = "What nothing else beats";
  chart.x_title = axis_title(core::trim(names[0]));
  chart.y_title = axis_title(core::trim(names[1]));
  double least = 0, most = 0;
  for (size_t i = 0; i < fronts.size(); ++i) {
    report::LineSeries line;
    line.name = fronts[i].network;
    line.points = fronts[i].values;
    // Colours come again after a while; the shape then tells the lines apart.
    line.marker = 1 + static_cast<int>(i / report::colour_count());
    for (const Row& row : fronts[i].rows) {
      const auto& designs = study.results[row.run].designs;
      line.labels.push_back(
          places[row.run] +
          (designs.empty() ? "" : std::string(" ") + designs[row.design].design->name));
    }
    for (const auto& point : line.points) {
      least = least == 0 ? point.first : std::min(least, point.first);
      most = std::max(most, point.first);
    }
    chart.series.push_back(std::move(line));
  }
  constexpr double kWide = 30;  // networks of different sizes side by side
  chart.log_x = least > 0 && most > kWide * least;
  return chart;
}

report::BarChart layer_chart(const Study& study, size_t run, const Details& details) {
  const accel::Point& point = study.points[run];
  report::BarChart chart;
  const std::string where = study.cases[run].model + ", " + study.cases[run].input + ", " +
                            array_text(point.accelerator.array) + " " + point.dataflow->name;
  chart.x_title = "layer";
  chart.y_title = "cycles";
  std::vector<size_t> shown;  // rows that take no time, or vanish beside the others, stay out
  for (size_t i = 0; i < details.layers.size(); ++i) {
    if (point.plan->layers[i].product) shown.push_back(i);
  }
  for (const size_t i : shown) chart.categories.push_back(point.plan->layers[i].name);
  if (!training(details)) {
    chart.title = where + ": forward pass";
    report::BarSeries series{"forward", {}, 0};
    for (const size_t i : shown) {
      series.values.push_back(static_cast<double>(details.layers[i].forward.total()));
    }
    chart.series = {series};
    return chart;
  }
  // The paper shows Efficient; without it the first design that predicts.
  const accel::DesignResult* ours = nullptr;
  for (const auto& result : details.training.designs) {
    if (result.design->predicts && (ours == nullptr || result.design == &accel::kEfficient)) {
      ours = &result;
    }
  }
  const accel::DesignResult& original = details.training.baseline;
  const auto series = [&](const std::string& name, const accel::BatchCost& batch, int64_t batches,
                          int stack) {
    report::BarSeries out{name, {}, stack};
    for (const size_t i : shown) {
      out.values.push_back(static_cast<double>(layer_total(batch, i)) *
                           static_cast<double>(batches));
    }
    chart.series.push_back(std::move(out));
  };
  const int64_t batches =
      original.warm_up.batches + original.phase_bp.batches + original.phase_gp.batches;
  series("baseline", original.backprop, batches, 0);
  chart.title = where + ": a training run, baseline";
  if (ours != nullptr) {
    const std::string name = ours->design->name;
    chart.title += std::string(" and ") + name;
    series(name + ": warm-up", ours->backprop, ours->warm_up.batches, 1);
    series(name + ": phase BP", ours->backprop, ours->phase_bp.batches, 1);
    series(name + ": phase GP", ours->predict, ours->phase_gp.batches, 1);
  }
  return chart;
}

report::BarChart runs_chart(const Study& study, const std::vector<Row>& rows) {
  std::vector<size_t> runs;  // each once
  for (const Row& row : rows) {
    if (std::find(runs.begin(), runs.end(), row.run) == runs.end()) runs.push_back(row.run);
    if (runs.size() > kMostDrawn) {
      throw UsageError(core::cat("--plot: more than ", kMostDrawn,
                                 " runs do not fit into a picture; sweep fewer, or --pareto"));
    }
  }
  report::BarChart chart;
  const auto names = labels(study);
  for (const size_t run : runs) chart.categories.push_back(names[run]);
  chart.x_title = "run";
  const auto& designs = study.points.front().designs;
  if (designs.empty()) {
    chart.title = "Forward pass";
    chart.y_title = "cycles";
    report::BarSeries series{"forward", {}, 0};
    for (const size_t run : runs) {
      series.values.push_back(static_cast<double>(study.results[run].inference.total()));
    }
    chart.series = {series};
    return chart;
  }
  chart.title = "Speed-up of training over the baseline";
  chart.y_title = "speed-up";
  chart.reference = 1;
  for (size_t d = 0; d < designs.size(); ++d) {
    if (!designs[d]->predicts && designs.size() > 1) continue;
    report::BarSeries series{designs[d]->name, {}, static_cast<int>(d)};
    for (const size_t run : runs) {
      series.values.push_back(study.results[run].designs[d].speedup);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace adagp::study
