#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/core/text.h"
#include "adagp/report/compare.h"

namespace adagp::report {
namespace {

constexpr int64_t kEnoughSeeds = 3;

// Pairs with the same number of common seeds, most seeds first.
using PairsBySeeds = std::map<int64_t, std::vector<PairedRow>, std::greater<>>;

std::string signed_points(double value) {
  return (value < 0 ? "" : "+") + core::fixed(value, 2);
}

std::string range_of(const Difference& points) {
  return signed_points(points.low) + " to " + signed_points(points.high);
}

bool present(const Comparison& comparison, const std::string& method) {
  return std::any_of(comparison.methods.begin(), comparison.methods.end(),
                     [&](const MethodRow& row) { return row.method == method; });
}

// "adagp is lower by 1.50 points (-2.00 to -1.00)".
std::string clause(const PairedRow& pair) {
  const Difference& points = pair.points;
  if (std::isnan(points.mean)) return pair.method + " has a run without a top-1";
  if (!points.excludes_zero()) {
    return pair.method + " shows no difference (" + signed_points(points.mean) + ", " +
           range_of(points) + ")";
  }
  return pair.method + (points.mean > 0 ? " is higher by " : " is lower by ") +
         core::fixed(std::abs(points.mean), 2) + " points (" + range_of(points) + ")";
}

std::string sentence_with_intervals(const std::string& against, int64_t seeds,
                                    const std::vector<PairedRow>& pairs) {
  std::vector<std::string> clauses;
  for (const auto& pair : pairs) clauses.push_back(clause(pair));
  return core::cat("Against ", against, " (", seeds,
                   " seeds, paired, 95 % t interval): ", core::join(clauses, "; "), ".");
}

// "against bp: adagp -1.50, skip -1.00 points".
std::string differences_seen(const std::string& against, const std::vector<PairedRow>& pairs) {
  std::vector<std::string> parts;
  for (const auto& pair : pairs) {
    const double mean = pair.points.mean;
    parts.push_back(pair.method + " " + (std::isnan(mean) ? "unknown" : signed_points(mean)));
  }
  return "against " + against + ": " + core::join(parts, ", ") + " points";
}

void say_what_is_absent(const Comparison& comparison, std::vector<std::string>& sentences) {
  const bool bp = present(comparison, "bp"), skip = present(comparison, "skip");
  const size_t others = comparison.methods.size() - (bp ? 1 : 0) - (skip ? 1 : 0);
  if (!bp) sentences.push_back("No bp runs: nothing can be said against bp.");
  if (!skip && others > 0) {
    sentences.push_back(
        "No skip runs: whether a method does more than leaving batches out is not shown.");
  }
  if (bp && !skip && others == 0) sentences.push_back("Only bp runs: nothing to compare.");
}

}  // namespace

std::string verdict(const Comparison& comparison) {
  if (comparison.methods.empty()) return "No runs.";
  std::vector<std::string> sentences;
  std::map<int64_t, std::vector<std::string>, std::greater<>> few;
  for (const std::string against : {"bp", "skip"}) {
    PairsBySeeds by_seeds;
    for (const auto& pair : comparison.pairs) {
      if (pair.against == against) by_seeds[pair.points.n].push_back(pair);
    }
    for (const auto& [seeds, pairs] : by_seeds) {
      if (seeds >= kEnoughSeeds) {
        sentences.push_back(sentence_with_intervals(against, seeds, pairs));
      } else if (seeds > 0) {
        few[seeds].push_back(differences_seen(against, pairs));
      } else {
        std::vector<std::string> names;
        for (const auto& pair : pairs) names.push_back(pair.method);
        sentences.push_back("No seed in common with " + against + ": " + core::join(names, ", ") +
                            ".");
      }
    }
  }
  for (const auto& [seeds, seen] : few) {
    sentences.push_back(core::cat(seeds, seeds == 1 ? " seed" : " seeds",
                                  ": too few to tell; differences seen: ", core::join(seen, "; "),
                                  "."));
  }
  for (const auto& pair : comparison.pairs) {
    if (pair.method != "adagp" || pair.against != "skip" || pair.points.n < kEnoughSeeds) continue;
    const bool beats = pair.points.excludes_zero() && pair.points.mean > 0;
    sentences.push_back(beats ? "adagp beats skip." : "adagp does not beat skip.");
  }
  say_what_is_absent(comparison, sentences);
  return core::join(sentences, " ");
}

}  // namespace adagp::report
