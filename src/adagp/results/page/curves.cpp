// Learning curves: a line for each family of runs, a band over its seeds.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/results/page/parts.h"
#include "adagp/results/page/sections.h"
#include "adagp/results/report/conditions.h"
#include "adagp/results/report/stats.h"

namespace adagp::page {
namespace {

using report::EpochRecord;
using report::RunFiles;

constexpr size_t kMostPoints = 600;  // of a line
constexpr size_t kMostRows = 12;     // of the table below a chart

double examples_at(const RunFiles& run, const EpochRecord& epoch) {
  if (std::isfinite(epoch.examples)) return epoch.examples;
  // Not recorded. Smaller images come in larger batches, so that the product would be wrong.
  const bool other_batches = run.method().find("progressive") != std::string::npos ||
                             run.method().find("small-batch") != std::string::npos;
  return other_batches ? std::numeric_limits<double>::quiet_NaN()
                       : static_cast<double>(epoch.step) * static_cast<double>(run.batch());
}

struct Axis {
  const char *key, *title;
  double (*read)(const RunFiles&, const EpochRecord&);
};
constexpr Axis kAxes[] = {
    {"epoch", "epochs",
     [](const RunFiles&, const EpochRecord& e) { return static_cast<double>(e.epoch + 1); }},
    {"seconds", "seconds of training",
     [](const RunFiles&, const EpochRecord& e) { return e.seconds; }},
    {"cost", "counted cost, in epochs of backprop",
     [](const RunFiles&, const EpochRecord& e) { return e.cost; }},
    {"examples", "examples seen", examples_at},
};

std::string figure_title(const std::string& key) {
  const bool test = key.starts_with("test_");
  const std::string name = test ? key.substr(5) : key;
  if (key == "train_loss") return "training loss";
  if (name == "loss") return "test loss";
  if (!test) return name;
  const report::Metric metric = report::metric_named(name);
  return "test " + metric.label + (metric.percent ? " %" : "");
}

// The metric's figure first, then the others by name.
std::vector<std::string> figures_of(const Group& group, const std::string& first) {
  std::set<std::string> names;
  for (const RunFiles& run : group.runs) {
    for (const EpochRecord& epoch : run.metrics.epochs) {
      for (const auto& entry : epoch.figures) names.insert(entry.first);
    }
  }
  std::vector<std::string> out(names.begin(), names.end());
  std::stable_partition(out.begin(), out.end(),
                        [](const std::string& name) { return name.starts_with("test_"); });
  std::stable_partition(out.begin(), out.end(),
                        [&](const std::string& name) { return name == first; });
  return out;
}

// The records of all seeds at the n-th epoch.
std::vector<std::pair<const RunFiles*, const EpochRecord*>> nth(const Family& family, size_t n) {
  std::vector<std::pair<const RunFiles*, const EpochRecord*>> out;
  for (const RunFiles* run : family.runs) {
    if (n < run->metrics.epochs.size()) out.emplace_back(run, &run->metrics.epochs[n]);
  }
  return out;
}

size_t longest(const Family& family) {
  size_t out = 0;
  for (const RunFiles* run : family.runs) out = std::max(out, run->metrics.epochs.size());
  return out;
}

double mean_of_finite(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return report::mean(values);
}

Line line_of(const Family& family, size_t place, const std::vector<std::string>& figures) {
  Line line;
  line.name = family.label;
  line.style = place;
  const size_t all = longest(family);
  for (const size_t n : thinned(all, kMostPoints)) {
    const auto records = nth(family, n);
    for (const Axis& axis : kAxes) {
      std::vector<double> values;
      for (const auto& [run, epoch] : records) values.push_back(axis.read(*run, *epoch));
      // Any seed without the number leaves the point without a place on this axis.
      line.x[axis.key].push_back(report::mean(values));
    }
    for (const std::string& figure : figures) {
      std::vector<double> values;
      for (const auto& [run, epoch] : records) {
        const auto found = epoch->figures.find(figure);
        if (found != epoch->figures.end() && std::isfinite(found->second)) {
          values.push_back(found->second);
        }
      }
      auto& y = line.y[figure];
      y.value.push_back(mean_of_finite(values));
      if (family.runs.size() < 2) continue;
      const double none = std::numeric_limits<double>::quiet_NaN();
      y.low.push_back(values.empty() ? none : *std::min_element(values.begin(), values.end()));
      y.high.push_back(values.empty() ? none : *std::max_element(values.begin(), values.end()));
    }
  }
  return line;
}

std::string curves_table(const std::vector<Line>& lines, const std::string& figure,
                         const std::string& title) {
  std::set<double> epochs;
  for (const Line& line : lines) {
    epochs.insert(line.x.at("epoch").begin(), line.x.at("epoch").end());
  }
  const std::vector<double> all(epochs.begin(), epochs.end());
  std::vector<report::Column> columns = {{"epoch"}};
  for (const Line& line : lines) columns.push_back({line.name});
  report::Table table(columns);
  for (const size_t place : thinned(all.size(), kMostRows)) {
    std::vector<std::string> cells = {core::shortest(all[place])};
    for (const Line& line : lines) {
      const auto& x = line.x.at("epoch");
      const auto found = std::find(x.begin(), x.end(), all[place]);
      cells.push_back(
          found == x.end()
              ? "-"
              : report::number_or_dash(
                    line.y.at(figure).value[static_cast<size_t>(found - x.begin())], 3));
    }
    table.add_row(cells);
  }
  return table.html(title + " by epoch, mean over the seeds");
}

}  // namespace

void add_curves(Page& page, const Group& group, const std::string& id) {
  const report::Metric metric = metric_of(group);
  const auto figures = figures_of(group, "test_" + metric.name);
  if (figures.empty()) return;
  std::vector<Line> lines;
  for (const Family& family : families_of(group)) {
    if (longest(family) > 0) lines.push_back(line_of(family, lines.size(), figures));
  }
  LineFigure figure;
  figure.id = id + "-curves";
  figure.title = "Figures after each epoch";
  figure.lines = lines;
  for (const Axis& axis : kAxes) {
    const bool known = std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return std::any_of(line.x.at(axis.key).begin(), line.x.at(axis.key).end(),
                         [](double value) { return std::isfinite(value); });
    });
    if (known) figure.x_axes.emplace_back(axis.key, axis.title);
  }
  for (const std::string& name : figures) figure.y_axes.emplace_back(name, figure_title(name));
  figure.about =
      "Line: mean over the seeds after each epoch. Band: from the lowest to the highest seed.";
  figure.smooth = true;
  figure.table = curves_table(lines, figures[0], figure_title(figures[0]));
  page.body += heading(3, id + "-learning", "Learning curves");
  add_lines(page, figure);
}

}  // namespace adagp::page
