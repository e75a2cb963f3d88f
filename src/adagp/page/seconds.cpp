// Where the seconds went, and how many batches were backpropagated.

#include "adagp/core/text.h"
#include "adagp/page/sections.h"
#include "adagp/report/stats.h"

namespace adagp::page {
namespace {

double mean_of(const Family& family, double (*read)(const report::Summary&)) {
  std::vector<double> values;
  for (const report::RunFiles* run : family.runs) {
    if (run->summary) values.push_back(read(*run->summary));
  }
  return report::mean(values);
}

struct Part {
  const char* name;
  double (*read)(const report::Summary&);
  int stack;
};
constexpr Part kParts[] = {
    {"training", [](const report::Summary& s) { return s.train_seconds; }, 0},
    {"evaluation", [](const report::Summary& s) { return s.eval_seconds; }, 0},
    {"stopped", [](const report::Summary& s) { return s.stopped_seconds; }, 0},
};

}  // namespace

void add_seconds(Page& page, const Group& group, const std::string& id) {
  report::BarChart chart;
  chart.y_title = "seconds";
  for (const Part& part : kParts) chart.series.push_back({part.name, {}, part.stack});
  report::Table table({{"method", report::Align::kLeft},
                       {"training s"},
                       {"evaluation s"},
                       {"stopped s"},
                       {"BP batches"},
                       {"GP batches"}});
  constexpr size_t kMostBars = 40;
  for (const Family& family : families_of(group)) {
    const auto part = [&](size_t i) { return mean_of(family, kParts[i].read); };
    if (!(part(0) >= 0) || !(part(1) >= 0) || !(part(2) >= 0)) continue;  // none is finished
    table.add_row(
        {family.label, core::fixed(part(0), 2), core::fixed(part(1), 2), core::fixed(part(2), 2),
         core::fixed(
             mean_of(family,
                     [](const report::Summary& s) { return static_cast<double>(s.bp_batches); }),
             0),
         core::fixed(
             mean_of(family,
                     [](const report::Summary& s) { return static_cast<double>(s.gp_batches); }),
             0)});
    if (chart.categories.size() == kMostBars) continue;
    chart.categories.push_back(family.label);
    for (size_t i = 0; i < chart.series.size(); ++i) chart.series[i].values.push_back(part(i));
  }
  if (chart.categories.empty()) return;
  std::erase_if(chart.series, [](const report::BarSeries& series) {
    return std::all_of(series.values.begin(), series.values.end(), [](double v) { return v == 0; });
  });
  if (chart.series.empty()) return;
  Figure figure;
  figure.id = id + "-seconds";
  figure.title = "Seconds of the finished runs, mean over the seeds";
  figure.about =
      "Training includes the loading of data. A run folder does not tell the seconds of BP batches "
      "from those of GP batches; the table has their numbers. Stopped: the process or the machine "
      "slept.";
  figure.svg = report::svg(chart, report::Use::kPage);
  std::vector<std::string> names;
  for (const auto& series : chart.series) names.push_back(series.name);
  figure.legend = report::boxes_of(names);
  figure.table = table.html("Seconds and batches");
  figure.data = {{"k", "static"}};
  page.body += heading(3, id + "-where", "Where the seconds went");
  page.add(figure);
}

}  // namespace adagp::page
