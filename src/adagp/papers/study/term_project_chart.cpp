// Fig. 8 of the term project.

#include <algorithm>

#include "adagp/papers/study/term_project.h"

namespace adagp::study {
namespace {

const report::MethodRow* method_of(const TermRow& row, const std::string& name) {
  for (const report::MethodRow& one : row.ours.methods) {
    if (one.method == name) return &one;
  }
  return nullptr;
}

// A line for each tail. What diverged has no point.
std::vector<report::LineSeries> lines_of(const std::vector<TermRow>& rows) {
  std::vector<report::LineSeries> out;
  for (const TermRow& row : rows) {
    const report::MethodRow* adagp = method_of(row, "adagp");
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
      const report::MethodRow* control = method_of(row, name);
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
