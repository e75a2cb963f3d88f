// Where the seconds went, and how many batches were backpropagated.

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/page/sections.h"
#include "adagp/results/report/stats.h"

namespace adagp::page {
namespace {

// A finished run's seconds. Its last record has the parts of the training, or NaN.
struct Spent {
  const report::Summary& summary;
  report::EpochRecord last;
};

struct Part {
  const char* name;
  double (*read)(const Spent&);
};
constexpr Part kParts[] = {
    {"BP batches", [](const Spent& s) { return s.last.bp_seconds; }},
    {"GP batches", [](const Spent& s) { return s.last.gp_seconds; }},
    {"waiting for data", [](const Spent& s) { return s.last.data_seconds; }},
};
constexpr Part kWhole[] = {
    {"training", [](const Spent& s) { return s.summary.train_seconds; }},
    {"evaluation", [](const Spent& s) { return s.summary.eval_seconds; }},
};
constexpr Part kCounts[] = {
    {"BP batches", [](const Spent& s) { return static_cast<double>(s.summary.bp_batches); }},
    {"GP batches", [](const Spent& s) { return static_cast<double>(s.summary.gp_batches); }},
};

double mean_of(const std::vector<Spent>& runs, double (*read)(const Spent&)) {
  std::vector<double> values;
  for (const Spent& run : runs) values.push_back(read(run));
  return report::mean(values);
}

std::vector<Spent> finished_runs(const Family& family) {
  std::vector<Spent> out;
  for (const report::RunFiles* run : family.runs) {
    if (!run->summary) continue;
    report::EpochRecord last;
    last.bp_seconds = std::nan("");
    if (!run->metrics.epochs.empty()) last = run->metrics.epochs.back();
    out.push_back({*run->summary, last});
  }
  return out;
}

// The parts of the training; NaN unless all runs tell them.
std::vector<double> parts_of(const std::vector<Spent>& runs) {
  std::vector<double> out;
  for (const Part& part : kParts) out.push_back(mean_of(runs, part.read));
  const bool told = std::all_of(out.begin(), out.end(), [](double s) { return s >= 0; });
  if (!told) std::fill(out.begin(), out.end(), std::nan(""));
  return out;
}

const char* about_parts(bool all_tell, bool none_tells) {
  if (all_tell) return "";
  return none_tells
             ? "These runs do not tell BP batches, GP batches and waiting for data apart: on "
               "a GPU that would take a wait after each batch."
             : "Where BP batches, GP batches and waiting for data are not told apart, \"rest "
               "of training\" is the training as a whole.";
}

}  // namespace

void add_seconds(Page& page, const Group& group, const std::string& id) {
  struct Row {
    std::string label;
    std::vector<Spent> runs;
    std::vector<double> parts, whole;
  };
  std::vector<Row> rows;
  bool all_tell = true, none_tells = true;
  for (const Family& family : families_of(group)) {
    Row row{family.label, finished_runs(family), {}, {}};
    row.parts = parts_of(row.runs);
    for (const Part& part : kWhole) row.whole.push_back(mean_of(row.runs, part.read));
    const auto known = [](double s) { return s >= 0; };
    if (!std::all_of(row.whole.begin(), row.whole.end(), known)) continue;  // none is finished
    const bool tells = std::isfinite(row.parts[0]);
    all_tell = all_tell && tells;
    none_tells = none_tells && !tells;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return;

  report::BarChart chart;
  chart.y_title = "seconds";
  std::vector<report::Column> columns = {{"method", report::Align::kLeft}};
  for (const Part& part : kParts) {
    chart.series.push_back({part.name, {}, 0});
    columns.push_back({part.name + std::string(" s")});
  }
  for (const Part& part : kWhole) {
    const bool rest = part.name == std::string("training") && !none_tells;
    chart.series.push_back({rest ? "rest of training" : part.name, {}, 0});
    columns.push_back({part.name + std::string(" s")});
  }
  for (const Part& count : kCounts) columns.push_back({count.name});
  report::Table table(columns);
  constexpr size_t kMostBars = 40;
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.label};
    for (const double s : row.parts) cells.push_back(report::number_or_dash(s, 2));
    for (const double s : row.whole) cells.push_back(core::fixed(s, 2));
    for (const Part& count : kCounts) {
      cells.push_back(core::fixed(mean_of(row.runs, count.read), 0));
    }
    table.add_row(std::move(cells));
    if (chart.categories.size() == kMostBars) continue;
    chart.categories.push_back(row.label);
    std::vector<double> bars;
    double told = 0;
    for (const double s : row.parts) {
      bars.push_back(std::isfinite(s) ? s : 0);
      told += bars.back();
    }
    bars.insert(bars.end(), row.whole.begin(), row.whole.end());
    bars[row.parts.size()] = std::max(0.0, row.whole[0] - told);
    for (size_t i = 0; i < bars.size(); ++i) chart.series[i].values.push_back(bars[i]);
  }
  std::erase_if(chart.series, [](const report::BarSeries& series) {
    return std::all_of(series.values.begin(), series.values.end(), [](double v) { return v == 0; });
  });
  if (chart.series.empty()) return;
  Figure figure;
  figure.id = id + "-seconds";
  figure.title = "Seconds of the finished runs, mean over the seeds";
  figure.about = about_parts(all_tell, none_tells);
  figure.svg = report::svg(chart, report::Use::kPage);
  figure.legend = report::legend_of(chart);
  figure.table = table.html("Seconds and batches");
  page.body += heading(3, id + "-where", "Where the seconds went");
  page.add(figure);
}

}  // namespace adagp::page
