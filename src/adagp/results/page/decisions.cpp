// What method auto decided when.

#include "adagp/base/core/text.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

using report::DecisionRecord;
using report::RunFiles;

std::string state_name(int64_t used_k, const std::string& candidate) {
  return used_k > 0 ? core::cat(candidate, ", k = ", used_k) : "backprop alone";
}

void add_lane(report::GanttChart& chart, const RunFiles& run, const std::string& label) {
  const size_t lane = chart.lanes.size();
  chart.lanes.push_back(core::cat(label, ", seed ", run.seed()));
  double start = 0;
  std::string state = state_name(0, "");
  const auto end_at = [&](double end) {
    if (end > start) chart.boxes.push_back({lane, start, end, "", state});
    start = std::max(start, end);
  };
  for (const DecisionRecord& decision : run.metrics.decisions) {
    end_at(static_cast<double>(decision.step));
    // A step that is rejected leaves the one that is in use.
    const bool changes = decision.what == "adopt" || decision.what == "raise" ||
                         decision.what == "lower" || decision.what == "drop";
    if (changes) state = state_name(decision.used_k, decision.candidate);
  }
  end_at(static_cast<double>(run.metrics.last_step));
}

}  // namespace

void add_decisions(Page& page, const Group& group, const std::string& id) {
  report::GanttChart chart;
  chart.x_title = "batches";
  report::Table table({"<run", "batch", "<decision", "<step", "tried k", "k in use",
                       "loss a second", "of backprop", "advantage at least", "pairs"});
  for (const RunFiles& run : group.runs) {
    if (run.metrics.decisions.empty()) continue;
    add_lane(chart, run, run.method());
    for (const DecisionRecord& one : run.metrics.decisions) {
      table.add_row({run.name, core::cat(one.step), one.what, one.candidate, core::cat(one.tried),
                     core::cat(one.used_k), report::number_or_dash(one.rate, 5),
                     report::number_or_dash(one.bp_rate, 5), report::number_or_dash(one.low, 5),
                     core::cat(one.pairs)});
    }
  }
  if (chart.boxes.empty()) return;
  Figure figure;
  figure.id = id + "-decisions";
  figure.title = "Decisions of method auto";
  figure.about = "Which step was in use when. The table has every trial, also the rejected ones.";
  figure.svg = report::svg(chart, report::Use::kPage);
  figure.legend = report::legend_of(chart);
  figure.table = table.html("Decisions");
  page.body += heading(3, id + "-auto", "Decisions of auto");
  page.add(figure);
}

}  // namespace adagp::page
