#pragma once
// The points of `adagp sweep`: every combination of the values that --over names for some keys.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/base/config/predictor_options.h"
#include "adagp/base/core/binding.h"
#include "adagp/base/core/files.h"

namespace adagp::study {

// A key with the values it takes, as texts that Binding::set() reads.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
};

// One training to do, as it differs from the recipe.
struct SweepPoint {
  std::string name;                                         // "schedule=1:1, optim.lr=0.1"
  std::vector<std::pair<std::string, std::string>> values;  // key, value
};

// "schedule=10ep bp, 1:1;paper|predictor.channels=8..32*2|optim.lr=0.05,0.1": keys apart by '|',
// values by ';', or by ',' where there is no ';' (the values of `schedule` and of lists have commas
// of their own: they are apart by ';' alone). Keys that are numbers take ranges: 1..4 (step 1),
// 8..64:8, 8..64*2. Throws UsageError for a key that `binding` does not have, a value that it
// refuses, a value or key given twice, and for keys in `refused`, each with the reason.
std::vector<SweptKey> parse_swept_keys(
    const std::string& text, core::Binding& binding,
    const std::vector<std::pair<std::string, std::string>>& refused);

// All combinations; the last key moves fastest. Throws UsageError for more than 10,000.
std::vector<SweepPoint> grid(const std::vector<SweptKey>& keys);

// `count` of the points in their order, drawn without replacement; all when there are not more.
// Equal seeds draw the same ones, so that a resumed sweep goes on with its own.
std::vector<SweepPoint> draw_points(const std::vector<SweepPoint>& points, int64_t count,
                                    uint64_t seed);

// The study `schedules`: which order of BP and GP batches is best?

constexpr int64_t kLeastStudyEpochs = 6;  // below, warm-up and three ratios leave no room

// Schedules for a run of `epochs`: the published one in its proportions; other lengths of warm-up
// and other fixed ratios; and the published share of GP batches in other places: rising instead of
// falling, and at once early, in the middle or late. Shares are equal up to whole epochs. Throws
// UsageError for fewer than kLeastStudyEpochs epochs.
std::vector<SweepPoint> schedule_points(int64_t epochs);

// How much faster the simulated accelerator trains with a run's schedule.

struct SimulatedRun {
  core::fs::path layers;  // layers.csv of a run folder
  std::string schedule;
  int64_t epochs = 1, batch = 1, examples = 1;  // examples of an epoch
  predictor::Config predictor;
};

// Cycles of the baseline over those of design MAX (array 12x15, weights stationary). Nothing for a
// predictor that the simulator does not know.
std::optional<double> simulated_speedup(const SimulatedRun& run);

}  // namespace adagp::study
