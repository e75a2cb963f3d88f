#include "adagp/papers/study/term_project.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"

namespace adagp::study {
namespace {

// A line for each tail. What diverged has no point.
std::vector<report::LineSeries> lines_of(const std::vector<TermRow>& rows) {
  std::vector<report::LineSeries> out;
  for (const TermRow& row : rows) {
    const report::MethodRow* adagp = report::row_of(row.ours, "adagp");
    if (adagp == nullptr) continue;
    const std::string name = "adagp, tail " + row.what.tail;
    auto line = std::find_if(out.begin(), out.end(),
                             [&](const report::LineSeries& one) { return one.name == name; });
    if (line == out.end()) {
      report::LineSeries next;
      next.name = name;
      next.marker = static_cast<int>(out.size()) + 1;
      line = out.insert(out.end(), next);
    }
    line->points.emplace_back(static_cast<double>(row.what.outputs), adagp->score_mean);
    line->errors.push_back(adagp->n > 1 ? adagp->score_sd : 0);
  }
  return out;
}

}  // namespace

TermRow term_row(const TermRuns& runs) {
  return {runs, report::compare(runs.runs), report::mean(runs.bp_epochs),
          report::mean(runs.gp_epochs)};
}

double term_slowdown(const TermProjectBatch& published) {
  constexpr int kEpochs = kTermProjectBpEpochs + kTermProjectGpEpochs;
  return published.total / (kEpochs * published.gp_epoch);
}

double term_batch_correlation() {
  std::vector<double> x, y;
  for (const TermProjectBatch& row : kTermProjectBatches) {
    x.push_back(row.batch);
    y.push_back(row.adagp);
  }
  const double mx = report::mean(x), my = report::mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

double term_formula(double epoch, double bp_epoch, double gp_epoch, int64_t bp_epochs,
                    int64_t gp_epochs) {
  const auto bp = static_cast<double>(bp_epochs), gp = static_cast<double>(gp_epochs);
  // Epochs that there are none of take no time, whatever their mean.
  const double spent = (bp > 0 ? bp_epoch * bp : 0) + (gp > 0 ? gp_epoch * gp : 0);
  return epoch * (bp + gp) / spent;
}

// Fig. 8 of the term project.
std::vector<std::pair<std::string, report::LineChart>> term_charts(const TermProject& project) {
  report::LineChart chart;
  chart.series = lines_of(project.outputs);
  if (chart.series.empty()) return {};
  const std::string& model = project.outputs.front().what.model;
  // The controls have no predictor: a line across.
  const auto [fewest, most] = std::minmax_element(
      project.outputs.begin(), project.outputs.end(),
      [](const TermRow& a, const TermRow& b) { return a.what.outputs < b.what.outputs; });
  const auto first = static_cast<double>(fewest->what.outputs);
  const auto last = static_cast<double>(most->what.outputs);
  for (const TermRow& row : project.networks) {
    if (row.what.model != model) continue;
    for (const char* name : {"bp", "skip"}) {
      const report::MethodRow* control = report::row_of(row.ours, name);
      if (control == nullptr) continue;
      report::LineSeries line;
      line.name = name;
      line.points = {{first, control->score_mean}, {last, control->score_mean}};
      line.stroke = report::Stroke::kDashed;
      chart.series.push_back(line);
    }
  }
  chart.title = "Fig. 8 of the term project: size of the predictor's output, " + model;
  chart.x_title = "outputs of the predictor (assumed: the figure names none)";
  chart.y_title = "top-1 (%)";
  chart.log_x = true;
  chart.from_zero = false;
  return {{"fig8-" + model + ".svg", chart}};
}

}  // namespace adagp::study
