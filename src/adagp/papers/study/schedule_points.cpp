#include "adagp/papers/study/schedule_points.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/schedule/schedule.h"

namespace adagp::study {
namespace {

using schedule::Stretch;

// Stretches of no epochs are left out.
std::string schedule_text(const std::vector<std::pair<int64_t, std::string>>& stretches) {
  std::vector<std::string> parts;
  for (const auto& [epochs, ratio] : stretches) {
    if (epochs > 0) parts.push_back(core::cat(epochs, "ep ", ratio));
  }
  return core::join(parts, ", ");
}

// The published ratios in the opposite order, so that GP batches become more and more.
std::string rising(const schedule::Schedule& published, int64_t epochs) {
  std::vector<std::pair<int64_t, std::string>> out;
  int64_t used = 0;
  for (const Stretch& stretch : published.stretches()) {
    const int64_t length = stretch.epochs > 0 ? stretch.epochs : epochs - used;
    out.emplace_back(
        length, stretch.predicted == 0 ? "bp" : core::cat(stretch.predicted, ":", stretch.exact));
    used += length;
  }
  std::reverse(out.begin() + 1, out.end());  // the warm-up stays first
  return schedule_text(out);
}

}  // namespace

std::vector<SweepPoint> schedule_points(int64_t epochs) {
  if (epochs < kLeastStudyEpochs) {
    throw UsageError(core::cat("study schedules: epochs = ", epochs, ", expected at least ",
                               kLeastStudyEpochs, ": warm-up and ratios need whole epochs"));
  }
  const auto published = schedule::Schedule::parse("auto", epochs);
  const int64_t warm_up = published.stretches().front().epochs;

  std::vector<SweepPoint> points;
  const auto add = [&](const std::string& name, const std::string& text) {
    const bool known = std::any_of(points.begin(), points.end(), [&](const SweepPoint& point) {
      return point.values.front().second == text;
    });
    if (!known) points.push_back({name, {{"schedule", text}}});
  };
  add("published", published.str());
  for (const char* ratio : {"1:2", "1:1", "2:1", "4:1"}) {
    add(core::cat("fixed ", ratio), core::cat(warm_up, "ep bp, ", ratio));
  }
  for (const int64_t length : {int64_t{0}, warm_up / 2, 2 * warm_up, 4 * warm_up}) {
    if (length >= epochs) continue;
    add(core::cat("warm-up ", length),
        length == 0 ? std::string("1:1") : core::cat(length, "ep bp, 1:1"));
  }
  add("rising", rising(published, epochs));
  // The same share of GP batches at once, as 3:1: a predictor without BP batches learns nothing.
  constexpr int64_t kManyBatches = 1000;  // the number of batches hardly moves the share
  constexpr double kPacked = 0.75;
  const double share = published.predicted_share(epochs, kManyBatches);
  const auto packed = std::min<int64_t>(
      epochs - warm_up, std::llround(share * static_cast<double>(epochs) / kPacked));
  const int64_t rest = epochs - warm_up - packed;
  add("early", schedule_text({{warm_up, "bp"}, {packed, "3:1"}, {rest, "bp"}}));
  add("middle",
      schedule_text({{warm_up + rest / 2, "bp"}, {packed, "3:1"}, {rest - rest / 2, "bp"}}));
  add("late", schedule_text({{warm_up + rest, "bp"}, {packed, "3:1"}}));
  return points;
}

}  // namespace adagp::study
