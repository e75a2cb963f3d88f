// The table of a comparison, its verdict, and the differences with their intervals.

#include <set>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/sections.h"
#include "adagp/results/report/compare.h"

namespace adagp::page {
namespace {

using report::RunFiles;

// Methods by their names; by their folders' where a method has several kinds of runs.
std::vector<report::RunRecord> records_of(const Group& group, const std::string& metric) {
  std::vector<report::RunRecord> by_method, by_label;
  std::set<std::pair<std::string, int64_t>> seen;
  bool twice = false;
  for (const Family& family : families_of(group)) {
    for (const RunFiles* run : family.runs) {
      if (!run->summary || run->summary->metric != metric) continue;
      const report::Summary& s = *run->summary;
      report::RunRecord record{s.method,     s.seed,       s.score(), s.train_seconds,
                               s.bp_batches, s.gp_batches, s.cosine};
      twice = !seen.emplace(s.method, s.seed).second || twice;
      by_method.push_back(record);
      record.method = family.label;
      by_label.push_back(record);
    }
  }
  return twice ? by_label : by_method;
}

report::Table pairs_table(const report::Comparison& comparison) {
  using report::number_or_dash;
  report::Table table({"<method", "<minus", "common seeds", "points", "from", "to"});
  for (const report::PairedRow& pair : comparison.pairs) {
    table.add_row({pair.method, pair.against, core::cat(pair.points.n),
                   number_or_dash(pair.points.mean, 3), number_or_dash(pair.points.low, 3),
                   number_or_dash(pair.points.high, 3)});
  }
  return table;
}

report::Table unfinished_table(const Group& group) {
  report::Table table({"<run", "<method", "seed", "epochs done", "of"});
  for (const RunFiles& run : group.runs) {
    if (run.finished()) continue;
    table.add_row({run.name, run.method(), core::cat(run.seed()),
                   core::cat(run.metrics.epochs.size()), core::cat(run.epochs())});
  }
  return table;
}

std::string about_runs(const Group& group) {
  std::set<std::string> found;
  report::Conditions conditions;
  for (const RunFiles& run : group.runs) {
    if (!run.summary) continue;
    conditions = run.summary->conditions;
    found.insert(conditions.text());
  }
  if (found.empty()) return "";
  if (found.size() == 1) return *found.begin();
  return core::cat("The runs had ", found.size(),
                   " different sets of conditions (see settings that differ): their scores cannot "
                   "be compared as they are.");
}

}  // namespace

void add_verdict(Page& page, const Group& group, const std::string& id) {
  const report::Metric metric = metric_of(group);
  page.body += paragraphs(about_runs(group));
  const report::Table unfinished = unfinished_table(group);
  if (unfinished.rows() > 0) {
    page.body += core::cat("<p>", unfinished.rows(),
                           unfinished.rows() == 1 ? " run is not finished and counts"
                                                  : " runs are not finished and count",
                           " for nothing in the verdict.</p>\n");
    page.add_table(unfinished.html("Unfinished runs"), "Unfinished runs");
  }
  if (group.budget) return;  // which judges by lengths
  const auto records = records_of(group, metric.name);
  if (records.empty()) return;
  report::Comparison comparison;
  try {
    comparison = report::compare(records, metric);
  } catch (const Error& error) {
    page.body += "<p>No comparison: " + safe(error.what()) + ".</p>\n";
  }
  if (comparison.methods.empty()) return;
  page.body += heading(3, id + "-verdict", "Verdict");
  page.body += "<div class=\"verdict\">\n" + paragraphs(report::verdict(comparison)) +
               paragraphs(report::in_plain_words(comparison)) + "</div>\n";
  page.add_table(report::to_table(comparison).html("Methods, mean ± standard deviation over seeds"),
                 "Methods");
  report::IntervalChart chart = report::to_chart(comparison);
  if (chart.rows.empty()) return;
  Figure figure;
  figure.id = id + "-differences";
  figure.title = std::exchange(chart.title, "");
  figure.about =
      "Dot: mean difference of runs with equal seeds. Bar: its 95 % t interval; where it crosses 0 "
      "these runs cannot tell the two apart. No bar: a single seed.";
  figure.svg = report::svg(chart, report::Use::kPage);
  figure.table = pairs_table(comparison).html("Paired differences");
  page.add(figure);
}

}  // namespace adagp::page
