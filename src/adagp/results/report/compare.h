#pragma once
// Runs of several methods over several seeds -> one table and what it does and does not show.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/conditions.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::report {

constexpr int64_t kEnoughSeeds = 3;  // with fewer in common nothing is concluded

// What one finished run contributes.
struct RunRecord {
  std::string method;
  int64_t seed = 0;
  double score = 0;    // by which runs are compared: top-1 in percent, mAP, ...
  double seconds = 0;  // of training
  int64_t bp_batches = 0;
  int64_t gp_batches = 0;
  std::optional<double> cosine{};  // of predicted with true gradients, where something is predicted
  std::optional<double> processor_seconds{};  // of training, where it was measured
  std::string hardware{};  // "NVIDIA H200", "Intel(R) Xeon(R) ..."; empty: not known
};

// One method over its seeds. NaN where a number does not exist.
struct MethodRow {
  std::string method;
  double score_mean = 0;
  double score_sd = 0;  // n - 1
  int64_t n = 0;
  double seconds_mean = 0;
  // Mean seconds of bp / mean seconds of the method, over the seeds both have: a ratio of means,
  // so that one slow run weighs by its seconds and not by its ratio. A seed whose two runs were on
  // unlike hardware does not count.
  double speedup = 0;
  int64_t bp_batches = 0;  // mean over the seeds, rounded
  int64_t gp_batches = 0;
  double cosine_mean = 0;             // over the runs that have one
  double processor_seconds_mean = 0;  // the same
};

// Score of `method` minus score of `against`, paired over their common seeds.
struct PairedRow {
  std::string method;
  std::string against;  // "bp" or "skip"
  Difference points;
};

struct Comparison {
  std::string about;  // a line: which network, data and device; empty: not told
  Conditions conditions;
  Metric metric;
  std::vector<MethodRow> methods;  // in order of first appearance
  std::vector<PairedRow> pairs;    // against bp first, then against skip; without bp against skip
  double uneven_seconds = 0;       // by how much equal-time's differ from adagp's, the worst seed
  double least_bp_seconds = 0, most_bp_seconds = 0;  // of bp's runs, which have equal work
  std::vector<std::string> hardware;                 // of all runs that name theirs, sorted
};

// Null: the comparison has no such method.
const MethodRow* row_of(const Comparison& comparison, const std::string& method);

// Throws Error when a method has a seed twice.
Comparison compare(const std::vector<RunRecord>& runs, const Metric& metric = {});

// Whether adagp beats skip, then which methods differ from skip and which from bp: the 95 % t
// interval of the paired difference excludes zero. Below three common seeds it says that this is
// too few. Several methods are asked at once and the intervals are not widened for that. One
// paragraph for each, with an empty line between. The last one says if seconds cannot be trusted.
std::string verdict(const Comparison& comparison);

// Two sentences for a newcomer: adagp's time and score beside backprop's, then whether predicting
// pays: against backprop of equal seconds, else against skip. "" without adagp or bp.
std::string in_plain_words(const Comparison& comparison);

Table to_table(const Comparison& comparison);  // a row for each method, for people
// {"about", "conditions": {...}, "metric", "methods": {name: {"<metric>_mean", "<metric>_sd", "n",
// "seconds_mean", "speedup", "bp_batches", "gp_batches", "cosine_mean"}}, "pairs": [{"method",
// "against", "n", "mean", "low", "high"}], "verdict": text}; a number that does not exist is null.
// As in the table and in CSV, "processor_seconds_mean" is there where a run has it.
std::string to_json(const Comparison& comparison);
// About, conditions, table, verdict, plain words.
std::string to_markdown(const Comparison& comparison);
std::string to_console(const Comparison& comparison);  // the same for a terminal
// The fields of MethodRow, unrounded, and how many examples there were.
std::string to_csv(const Comparison& comparison);

// "vgg8s on synthetic, cpu: 500 training and 100 test examples of 32x32".
std::string heading(const std::string& about, const Conditions& conditions);

// A comparison as a picture: what lies between the methods, with its intervals.

// A row for each pair that has common seeds; none: there is nothing to draw.
IntervalChart to_chart(const Comparison& comparison);

// Throws Error where there is nothing to draw.
std::string to_svg(const Comparison& comparison);

}  // namespace adagp::report
