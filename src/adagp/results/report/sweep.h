#pragma once
// Results of `adagp sweep`: every point with its standard error, beside plain backprop of equal
// cost and beside the same schedule with its GP batches dropped.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/results/report/compare.h"

namespace adagp::report {

// What one finished run contributes. A run that diverged has a score that is not finite.
struct SweepRun {
  int64_t seed = 0;
  double score = 0;    // more is better
  double cost = 0;     // counted by multiplications, in epochs of plain backprop; NaN: uncounted
  double seconds = 0;  // of training
};

// What was run for one point.
struct SweepPointRuns {
  std::string name;
  std::vector<std::string> values;  // by SweepReport::keys
  std::vector<SweepRun> runs;
  std::vector<SweepRun> bp, skip;  // its controls: empty where it has none
  double gp_share = 0;
  std::optional<double> cosine;   // of predicted with true gradients
  std::optional<double> speedup;  // of the simulated accelerator over its baseline
};

// NaN where a number does not exist.
struct SweepRow {
  std::string name;
  std::vector<std::string> values;
  int64_t n = 0, diverged = 0;
  // A point with a run that diverged has no mean: the runs that did not are no fair sample.
  double score_mean = 0, score_error = 0;  // standard error of the mean
  double cost_mean = 0, seconds_mean = 0, gp_share = 0, cosine = 0, speedup = 0;
  struct Control {
    double score_mean = 0, cost_mean = 0, seconds_mean = 0;
    Difference above;  // score of the point minus the control's, paired over the seeds
  };
  std::optional<Control> bp, skip;
  bool front = false;
};

struct SweepReport {
  std::string about;  // a line: which network, data and device; empty: not told
  Conditions conditions;
  Metric metric;
  std::vector<std::string> keys;  // titles of the values
  std::vector<std::string> axes;  // of the front
  std::vector<SweepRow> rows;     // in the order of the points
  int64_t runs_done = 0, runs_planned = 0;
  std::vector<std::string> notes;  // sentences
};

// "acc,seconds": names of two or more axes (score, seconds, cost, speedup; acc, accuracy and the
// metric's name are the score). Throws UsageError.
std::vector<std::string> parse_axes(const std::string& text, const std::string& metric);
// What a row has on the axes, more is better.
std::vector<double> on_axes(const SweepRow& row, const std::vector<std::string>& axes);

// The rows with their front; the rest is the caller's to fill in.
SweepReport sweep_report(const std::vector<SweepPointRuns>& points,
                         const std::vector<std::string>& keys, const Metric& metric,
                         const std::vector<std::string>& axes);

// Which points are above their controls (95 % t interval of the paired difference).
std::string verdict(const SweepReport& report);

// {"about", "conditions", "metric", "axes", "runs_done", "runs_planned", "points": [{"name", KEY:
// value, ..., "n", "diverged", "<metric>_mean", "<metric>_error", "cost_mean", "seconds_mean",
// "gp_share", "cosine", "speedup", "bp", "skip": null or {"<metric>_mean", "cost_mean",
// "seconds_mean", "above", "low", "high", "n"}, "front"}], "notes", "verdict"}; what does not exist
// is null.
std::string to_json(const SweepReport& report);
std::string to_markdown(const SweepReport& report);
std::string to_console(const SweepReport& report);
std::string to_csv(const SweepReport& report);  // unrounded
// Score against seconds with standard errors: the points, the front as a line, and the backprop of
// equal cost of each point. Throws Error when no point has a score.
std::string to_svg(const SweepReport& report);

}  // namespace adagp::report
