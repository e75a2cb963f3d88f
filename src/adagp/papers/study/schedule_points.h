#pragma once
// The study `schedules`: which order of BP and GP batches is best?

#include <cstdint>
#include <vector>

#include "adagp/papers/study/sweep_points.h"

namespace adagp::study {

constexpr int64_t kLeastStudyEpochs = 6;  // below, warm-up and three ratios leave no room

// Schedules for a run of `epochs`: the published one in its proportions; other lengths of warm-up
// and other fixed ratios; and the published share of GP batches in other places: rising instead of
// falling, and at once early, in the middle or late. Shares are equal up to whole epochs. Throws
// UsageError for fewer than kLeastStudyEpochs epochs.
std::vector<SweepPoint> schedule_points(int64_t epochs);

}  // namespace adagp::study
