#include <cmath>
#include <functional>
#include <map>

#include "adagp/base/core/text.h"
#include "adagp/results/report/compare.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

// Pairs with the same number of common seeds, most seeds first.
using PairsBySeeds = std::map<int64_t, std::vector<PairedRow>, std::greater<>>;

std::string range_of(const Difference& points) {
  return signed_points(points.low) + " to " + signed_points(points.high);
}

// "higher by 1.50 points".
std::string direction(const Difference& points) {
  return core::cat(points.mean > 0 ? "higher" : "lower", " by ",
                   core::fixed(std::abs(points.mean), 2), " points");
}

std::string basis(int64_t seeds) {
  return core::cat(seeds, " seeds, paired, 95 % t interval");
}

// "adagp is lower by 1.50 points (-2.00 to -1.00)". An interval that holds 0 is no proof of
// equality: it says what the seeds cannot tell.
std::string clause(const PairedRow& pair) {
  const Difference& points = pair.points;
  if (std::isnan(points.mean)) return pair.method + " has a run without a score";
  if (!points.excludes_zero()) {
    return core::cat("cannot tell ", pair.method, " from ", pair.against, " (",
                     signed_points(points.mean), ", ", range_of(points), ")");
  }
  return pair.method + " is " + direction(points) + " (" + range_of(points) + ")";
}

// The question of every comparison: does predicting do more than leaving the batches out?
bool is_the_question(const PairedRow& pair) {
  return pair.method == "adagp" && pair.against == "skip" && pair.points.n >= kEnoughSeeds &&
         !std::isnan(pair.points.mean);
}

std::string answer(const PairedRow& pair) {
  const Difference& points = pair.points;
  const std::string where = range_of(points) + "; " + basis(points.n);
  if (!points.excludes_zero()) {
    return core::cat("adagp does not beat skip: these runs cannot tell adagp from skip (",
                     signed_points(points.mean), " points, ", where, ").");
  }
  return core::cat("adagp ", points.mean > 0 ? "beats" : "does not beat", " skip: it is ",
                   direction(points), " (", where, ").");
}

std::string paragraph_with_intervals(const std::string& against, int64_t seeds,
                                     const std::vector<PairedRow>& pairs) {
  std::vector<std::string> clauses;
  for (const auto& pair : pairs) clauses.push_back(clause(pair));
  const std::string what =
      against == "equal-time" ? "backprop for adagp's seconds, equal-time" : against;
  return core::cat("Against ", what, " (", basis(seeds), "): ", core::join(clauses, "; "), ".");
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

void say_what_is_absent(const Comparison& comparison, std::vector<std::string>& paragraphs) {
  const bool bp = row_of(comparison, "bp") != nullptr, skip = row_of(comparison, "skip") != nullptr;
  const size_t others = comparison.methods.size() - (bp ? 1 : 0) - (skip ? 1 : 0);
  if (!bp) paragraphs.push_back("No bp runs: nothing can be said against bp.");
  if (!skip && others > 0) {
    paragraphs.push_back(
        "No skip runs: whether a method does more than leaving batches out is not shown.");
  }
  if (bp && !skip && others == 0) paragraphs.push_back("Only bp runs: nothing to compare.");
}

constexpr double kUneven = 0.2;  // of the seconds: no longer "after the same seconds"

const MethodRow* scored_row(const Comparison& comparison, const std::string& method) {
  const MethodRow* row = row_of(comparison, method);
  return row != nullptr && std::isfinite(row->score_mean) ? row : nullptr;
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

std::string verdict(const Comparison& comparison) {
  if (comparison.methods.empty()) return "No runs.";
  std::vector<std::string> paragraphs;
  for (const auto& pair : comparison.pairs) {
    if (is_the_question(pair)) paragraphs.push_back(answer(pair));
  }
  std::map<int64_t, std::vector<std::string>, std::greater<>> few;
  for (const std::string against : {"equal-time", "skip", "bp"}) {
    PairsBySeeds by_seeds;
    for (const auto& pair : comparison.pairs) {
      if (pair.against == against && !is_the_question(pair)) {
        by_seeds[pair.points.n].push_back(pair);
      }
    }
    for (const auto& [seeds, pairs] : by_seeds) {
      if (seeds >= kEnoughSeeds) {
        paragraphs.push_back(paragraph_with_intervals(against, seeds, pairs));
      } else if (seeds > 0) {
        few[seeds].push_back(differences_seen(against, pairs));
      } else {
        std::vector<std::string> names;
        for (const auto& pair : pairs) names.push_back(pair.method);
        paragraphs.push_back("No seed in common with " + against + ": " + core::join(names, ", ") +
                             ".");
      }
    }
  }
  for (const auto& [seeds, seen] : few) {
    paragraphs.push_back(core::cat(seeds, seeds == 1 ? " seed" : " seeds",
                                   ": too few to tell; differences seen: ", core::join(seen, "; "),
                                   "."));
  }
  say_what_is_absent(comparison, paragraphs);
  const std::string clock =
      clock_note("bp: a run", comparison.least_bp_seconds, comparison.most_bp_seconds);
  if (!clock.empty()) paragraphs.push_back(clock);
  const std::string unlike = hardware_note(comparison.hardware);
  if (!unlike.empty()) {
    paragraphs.push_back(unlike + " The speed-up is of seeds whose two runs were on like ones.");
  }
  return core::join(paragraphs, "\n\n");
}

// The comparison for someone who meets it for the first time: two sentences, no statistics.
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
