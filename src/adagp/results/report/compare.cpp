#include "adagp/results/report/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

using SeedRuns = std::map<int64_t, RunRecord>;

struct MethodRuns {
  std::string method;
  SeedRuns runs;
};

std::vector<MethodRuns> by_method(const std::vector<RunRecord>& records) {
  std::vector<MethodRuns> out;
  for (const RunRecord& run : records) {
    MethodRuns* mine = nullptr;
    for (auto& group : out) mine = group.method == run.method ? &group : mine;
    if (mine == nullptr) mine = &out.emplace_back(MethodRuns{run.method, {}});
    if (!mine->runs.emplace(run.seed, run).second) {
      throw Error(core::cat("compare: method '", run.method, "' has seed ", run.seed, " twice"));
    }
  }
  return out;
}

const MethodRuns* find_method(const std::vector<MethodRuns>& groups, const std::string& method) {
  for (const auto& group : groups) {
    if (group.method == method) return &group;
  }
  return nullptr;
}

template <typename Read>
std::vector<double> collect(const SeedRuns& runs, Read read) {
  std::vector<double> out;
  for (const auto& entry : runs) out.push_back(static_cast<double>(read(entry.second)));
  return out;
}

// The mean over the runs that have the number.
double mean_of_known(const SeedRuns& runs, std::optional<double> RunRecord::*number) {
  std::vector<double> known;
  for (const auto& [seed, run] : runs) {
    if (run.*number) known.push_back(*(run.*number));
  }
  return mean(known);
}

// Their seconds say nothing about their work.
bool are_unlike(const RunRecord& a, const RunRecord& b) {
  return !a.hardware.empty() && !b.hardware.empty() && a.hardware != b.hardware;
}

double speedup_over(const SeedRuns& reference, const SeedRuns& runs) {
  double theirs = 0, ours = 0;
  for (const auto& [seed, run] : runs) {
    const auto other = reference.find(seed);
    if (other == reference.end() || are_unlike(run, other->second)) continue;
    theirs += other->second.seconds;
    ours += run.seconds;
  }
  return ours > 0 ? theirs / ours : std::numeric_limits<double>::quiet_NaN();
}

MethodRow summarise(const MethodRuns& group, const MethodRuns* bp) {
  const auto scores = collect(group.runs, [](const auto& r) { return r.score; });
  MethodRow row;
  row.method = group.method;
  row.score_mean = mean(scores);
  row.score_sd = standard_deviation(scores);
  row.n = static_cast<int64_t>(scores.size());
  row.seconds_mean = mean(collect(group.runs, [](const auto& r) { return r.seconds; }));
  row.speedup =
      bp != nullptr ? speedup_over(bp->runs, group.runs) : std::numeric_limits<double>::quiet_NaN();
  row.bp_batches =
      std::llround(mean(collect(group.runs, [](const auto& r) { return r.bp_batches; })));
  row.gp_batches =
      std::llround(mean(collect(group.runs, [](const auto& r) { return r.gp_batches; })));
  row.cosine_mean = mean_of_known(group.runs, &RunRecord::cosine);
  row.processor_seconds_mean = mean_of_known(group.runs, &RunRecord::processor_seconds);
  return row;
}

Difference paired_scores(const SeedRuns& runs, const SeedRuns& reference) {
  std::vector<double> differences;
  for (const auto& [seed, run] : runs) {
    const auto other = reference.find(seed);
    if (other != reference.end()) differences.push_back(run.score - other->second.score);
  }
  return paired_difference(differences);
}

bool has_processor_seconds(const Comparison& comparison) {
  return std::any_of(
      comparison.methods.begin(), comparison.methods.end(),
      [](const MethodRow& row) { return std::isfinite(row.processor_seconds_mean); });
}

std::string words_below(const Comparison& comparison) {
  const std::string plain = in_plain_words(comparison);
  const char* processor =
      has_processor_seconds(comparison) ? "; processor s: of all threads together" : "";
  return core::cat(
      "\nmean ± standard deviation of n seeds; speed-up: bp's seconds over this method's; "
      "cosine: of predicted and true gradients",
      processor, "\n\n", verdict(comparison), "\n", plain.empty() ? "" : "\n" + plain + "\n");
}

// The most that the seconds of one seed differ by, as a share of the reference's.
double uneven_seconds(const SeedRuns& runs, const SeedRuns& reference) {
  double most = 0;
  for (const auto& [seed, run] : runs) {
    const auto other = reference.find(seed);
    if (other == reference.end() || other->second.seconds <= 0) continue;
    if (are_unlike(run, other->second)) continue;
    most = std::max(most, std::abs(run.seconds / other->second.seconds - 1));
  }
  return most;
}

}  // namespace

Table to_table(const Comparison& comparison) {
  const bool processor = has_processor_seconds(comparison);
  std::vector<std::string> head = {
      "<method", comparison.metric.label + (comparison.metric.percent ? " %" : ""), "n", "seconds"};
  if (processor) head.emplace_back("processor s");
  head.insert(head.end(), {"speed-up", "BP batches", "GP batches", "cosine"});
  Table table(head);
  for (const MethodRow& row : comparison.methods) {
    std::vector<std::string> cells = {row.method, with_spread(row.score_mean, row.score_sd),
                                      core::cat(row.n), number_or_dash(row.seconds_mean, 1)};
    if (processor) cells.push_back(number_or_dash(row.processor_seconds_mean, 1));
    cells.insert(cells.end(), {number_or_dash(row.speedup, 2, "x"), core::cat(row.bp_batches),
                               core::cat(row.gp_batches), number_or_dash(row.cosine_mean, 3)});
    table.add_row(std::move(cells));
  }
  return table;
}

const MethodRow* row_of(const Comparison& comparison, const std::string& method) {
  for (const MethodRow& row : comparison.methods) {
    if (row.method == method) return &row;
  }
  return nullptr;
}

Comparison compare(const std::vector<RunRecord>& runs, const Metric& metric) {
  const auto groups = by_method(runs);
  const MethodRuns* bp = find_method(groups, "bp");
  Comparison out;
  out.metric = metric;
  for (const auto& group : groups) out.methods.push_back(summarise(group, bp));
  std::set<std::string> hardware;
  for (const RunRecord& run : runs) {
    if (!run.hardware.empty()) hardware.insert(run.hardware);
  }
  out.hardware.assign(hardware.begin(), hardware.end());
  if (bp != nullptr && hardware.size() < 2) {
    std::vector<double> seconds;
    for (const auto& [seed, run] : bp->runs) seconds.push_back(run.seconds);
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    out.least_bp_seconds = *least;
    out.most_bp_seconds = *most;
  }
  const MethodRuns *adagp = find_method(groups, "adagp"),
                   *same_time = find_method(groups, "equal-time");
  if (adagp != nullptr && same_time != nullptr) {
    out.uneven_seconds = uneven_seconds(same_time->runs, adagp->runs);
  }
  for (const std::string against : {"bp", "skip", "equal-time"}) {
    const MethodRuns* reference = find_method(groups, against);
    if (reference == nullptr) continue;
    for (const auto& group : groups) {
      // bp against skip is skip against bp, said already; equal-time has adagp's seconds alone.
      if (group.method == against || group.method == "bp") continue;
      if (against == "equal-time" && group.method != "adagp") continue;
      out.pairs.push_back({group.method, against, paired_scores(group.runs, reference->runs)});
    }
  }
  return out;
}

std::string to_json(const Comparison& comparison) {
  const bool processor = has_processor_seconds(comparison);
  // nlohmann writes NaN as null.
  nlohmann::ordered_json methods = nlohmann::ordered_json::object();
  for (const MethodRow& row : comparison.methods) {
    methods[row.method] = {{comparison.metric.name + "_mean", row.score_mean},
                           {comparison.metric.name + "_sd", row.score_sd},
                           {"n", row.n},
                           {"seconds_mean", row.seconds_mean},
                           {"speedup", row.speedup},
                           {"bp_batches", row.bp_batches},
                           {"gp_batches", row.gp_batches},
                           {"cosine_mean", row.cosine_mean}};
    if (processor) methods[row.method]["processor_seconds_mean"] = row.processor_seconds_mean;
  }
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const PairedRow& pair : comparison.pairs) {
    pairs.push_back({{"method", pair.method},
                     {"against", pair.against},
                     {"n", pair.points.n},
                     {"mean", pair.points.mean},
                     {"low", pair.points.low},
                     {"high", pair.points.high}});
  }
  nlohmann::ordered_json out;
  out["about"] = comparison.about;
  out["conditions"] = comparison.conditions.to_json();
  out["metric"] = comparison.metric.name;
  out["methods"] = methods;
  out["pairs"] = pairs;
  out["verdict"] = verdict(comparison);
  return out.dump(2) + "\n";
}

std::string heading(const std::string& about, const Conditions& conditions) {
  const std::string under = conditions.text();
  return about + (about.empty() || under.empty() ? "" : ": ") + under;
}

namespace {

std::string above_table(const Comparison& comparison) {
  const std::string line = heading(comparison.about, comparison.conditions);
  return line.empty() ? "" : line + "\n\n";
}

}  // namespace

std::string to_markdown(const Comparison& comparison) {
  return above_table(comparison) + to_table(comparison).markdown() + words_below(comparison);
}

std::string to_console(const Comparison& comparison) {
  return above_table(comparison) + to_table(comparison).console() + words_below(comparison);
}

std::string to_csv(const Comparison& comparison) {
  const bool processor = has_processor_seconds(comparison);
  const std::string& metric = comparison.metric.name;
  std::vector<std::string> head = {"method",       metric + "_mean", metric + "_sd", "n",
                                   "seconds_mean", "speedup",        "bp_batches",   "gp_batches",
                                   "cosine_mean",  "train_examples", "test_examples"};
  if (processor) head.emplace_back("processor_seconds_mean");
  Table table(head);
  for (const MethodRow& row : comparison.methods) {
    std::vector<std::string> cells = {row.method, exact_number(row.score_mean),
                                      exact_number(row.score_sd), core::cat(row.n)};
    for (const double number : {row.seconds_mean, row.speedup}) {
      cells.push_back(exact_number(number));
    }
    cells.insert(cells.end(),
                 {core::cat(row.bp_batches), core::cat(row.gp_batches),
                  exact_number(row.cosine_mean), core::cat(comparison.conditions.train_examples),
                  core::cat(comparison.conditions.test_examples)});
    if (processor) cells.push_back(exact_number(row.processor_seconds_mean));
    table.add_row(std::move(cells));
  }
  return table.csv();
}

IntervalChart to_chart(const Comparison& comparison) {
  IntervalChart chart;
  chart.title = "Differences in " + comparison.metric.label;
  chart.x_title = "points of " + comparison.metric.label + ", with 95 % t interval over the seeds";
  for (const PairedRow& pair : comparison.pairs) {
    if (!std::isfinite(pair.points.mean)) continue;
    chart.rows.push_back(
        {pair.method + " − " + pair.against, pair.points.mean, pair.points.low, pair.points.high});
  }
  return chart;
}

std::string to_svg(const Comparison& comparison) {
  return svg(to_chart(comparison));
}

}  // namespace adagp::report
