// Rows of the comparison: when a number needs a reason, and how many have one.

#include <cmath>

#include "adagp/papers/study/paper_parts.h"

namespace adagp::study {
namespace {

constexpr double kClose = 0.03;  // no explanation needed

bool apart(const Comparison& comparison) {
  const auto ratio = comparison.ratio();
  return !ratio || std::fabs(*ratio - 1) > kClose;
}

}  // namespace

const char* reason_name(Reason reason) {
  constexpr const char* kNames[] = {"",       "no data",  "needs a run", "not stated",
                                    "unlike", "computed", "not modelled"};
  return kNames[static_cast<size_t>(reason)];
}

void add(PaperResult& result, Comparison comparison, const Note& note) {
  if (apart(comparison)) comparison.note = note;
  result.comparisons.push_back(std::move(comparison));
}

std::optional<double> Comparison::ratio() const {
  if (!published || !ours || *published == 0) return std::nullopt;
  return *ours / *published;
}

PaperCount count(const PaperResult& result) {
  PaperCount out;
  for (const Comparison& one : result.comparisons) {
    if (!one.published || one.again) continue;
    ++out.published;
    if (one.ours) {
      ++out.with_ours;
    } else if (one.note.reason != Reason::kNone) {
      ++out.explained;
    }
  }
  return out;
}

}  // namespace adagp::study
