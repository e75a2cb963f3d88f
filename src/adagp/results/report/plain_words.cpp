// The comparison for someone who meets it for the first time: two sentences, no statistics.
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/results/report/compare.h"

namespace adagp::report {
namespace {

constexpr double kUneven = 0.2;  // of the seconds: no longer "after the same seconds"

const MethodRow* scored_row(const Comparison& comparison, const std::string& method) {
  for (const MethodRow& row : comparison.methods) {
    if (row.method == method && std::isfinite(row.score_mean)) return &row;
  }
  return nullptr;
}

// "pays" and "does not pay" need seeds enough and an interval without zero; anything else is
// unknown.
std::string judgement(const Comparison& comparison, const std::string& against,
                      const std::string& yes, const std::string& no) {
  for (const PairedRow& pair : comparison.pairs) {
    if (pair.method != "adagp" || pair.against != against) continue;
    if (pair.points.n < kEnoughSeeds) break;
    if (pair.points.excludes_zero()) return pair.points.mean > 0 ? yes : no;
  }
  return "these runs cannot tell which is better (more --seeds can)";
}

}  // namespace

std::string in_plain_words(const Comparison& comparison) {
  const MethodRow* bp = scored_row(comparison, "bp");
  const MethodRow* adagp = scored_row(comparison, "adagp");
  if (bp == nullptr || adagp == nullptr || !std::isfinite(adagp->speedup)) return "";
  const auto score = [&](const MethodRow& row) {
    return core::fixed(row.score_mean, 2) + (comparison.metric.percent ? " %" : "");
  };
  std::string out = core::cat("In plain words: training with predicted gradients (adagp) took ",
                              core::fixed(100 / adagp->speedup, 0),
                              " % of the time of plain backprop (bp) and reached ", score(*adagp),
                              " ", comparison.metric.label, "; backprop reached ", score(*bp), ".");
  if (const MethodRow* same_time = scored_row(comparison, "equal-time")) {
    out += core::cat(" Backprop that stops after adagp's seconds (equal-time) reached ",
                     score(*same_time), ": ",
                     judgement(comparison, "equal-time", "here predicting gradients pays",
                               "here predicting gradients does not pay"),
                     ".");
    if (comparison.uneven_seconds > kUneven) {
      out += core::cat(" But the seconds of the two differ by up to ",
                       core::fixed(100 * comparison.uneven_seconds, 0),
                       " % in one seed, as they do in short runs and where other programs run.");
    }
  } else if (const MethodRow* skip = scored_row(comparison, "skip")) {
    out += core::cat(" Just leaving those batches out (skip) reached ", score(*skip), ": ",
                     judgement(comparison, "skip", "here predicting does more than leaving out",
                               "here predicting does less than leaving out"),
                     ".");
  }
  return out;
}

}  // namespace adagp::report
