#include "adagp/base/io/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::TempFolder;

std::vector<core::fs::path> event_files(const TempFolder& temp) {
  std::vector<core::fs::path> files;
  for (const auto& item : core::fs::directory_iterator(temp.path())) files.push_back(item.path());
  std::sort(files.begin(), files.end());
  return files;
}

// What the tensorboard package makes of a folder.
nlohmann::json tensorboard_view(const TempFolder& temp) {
  return nlohmann::json::parse(
      testing::run_python("tests/unit/io/python/read_events.py", temp.path().string()));
}

TEST(Events, LaterFilesSortLater) {
  const TempFolder temp;
  // An hour in the future: the clock was set back since.
  const auto later = std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(1);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(later).count();
  core::write_file(temp / core::cat("events.out.tfevents.", seconds, ".host.1.0"), "");
  const std::vector<std::string> tags{"first", "second", "third"};
  for (const auto& tag : tags) EventWriter(temp.path()).scalar(tag, 0, 0);
  const auto files = event_files(temp);
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(core::fs::file_size(files[0]), 0u) << "a new file sorts before the one in the future";
  for (size_t i = 0; i < tags.size(); ++i) {
    EXPECT_NE(core::read_file(files[i + 1]).find(tags[i]), std::string::npos) << tags[i];
  }
}

TEST(Events, TensorboardReadsScalarsAndHistograms) {
  const TempFolder temp;
  std::vector<double> values{0.0, -0.0, 1e-13, -1e-13, 1e25, -1e25};
  core::Rng rng(1);
  for (int i = 0; i < 1000; ++i) values.push_back(rng.normal() * std::pow(10, rng.uniform(-8, 2)));
  {
    EventWriter writer(temp.path());
    for (int step = 0; step < 5; ++step) writer.scalar("loss", 1.0 / (1 + step), step);
    writer.scalar("a/b \u00fc", -1e30, int64_t{1} << 40);
    std::vector<double> with_nan = values;
    with_nan.push_back(std::nan(""));
    with_nan.push_back(std::numeric_limits<double>::infinity());
    writer.histogram("weights", with_nan, 3);
    writer.histogram("one", {0.25}, 4);
    writer.histogram("none", {std::nan("")}, 4);
  }
  const auto view = tensorboard_view(temp);
  ASSERT_EQ(view["scalars"]["loss"].size(), 5u);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(view["scalars"]["loss"][step][0], step);
    EXPECT_EQ(view["scalars"]["loss"][step][1].get<float>(), 1.0f / static_cast<float>(1 + step));
  }
  const auto& far = view["scalars"]["a/b \u00fc"][0];
  EXPECT_EQ(far[0], int64_t{1} << 40);
  EXPECT_EQ(far[1].get<float>(), -1e30f);
  EXPECT_EQ(view["histograms"].size(), 2u);

  const auto& histogram = view["histograms"]["weights"][0];
  EXPECT_EQ(histogram["step"], 3);
  EXPECT_EQ(histogram["num"], values.size());
  EXPECT_EQ(histogram["min"], -1e25);
  EXPECT_EQ(histogram["max"], 1e25);
  EXPECT_DOUBLE_EQ(histogram["sum"], std::accumulate(values.begin(), values.end(), 0.0));
  EXPECT_DOUBLE_EQ(histogram["sum_squares"],
                   std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
  const auto limits = histogram["limits"].get<std::vector<double>>();
  const auto buckets = histogram["buckets"].get<std::vector<double>>();
  ASSERT_EQ(limits.size(), buckets.size());
  EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
  double low = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < limits.size(); ++i) {
    const auto inside = std::count_if(values.begin(), values.end(),
                                      [&](double v) { return v >= low && v < limits[i]; });
    EXPECT_EQ(buckets[i], static_cast<double>(inside)) << "bucket " << i;
    low = limits[i];
  }
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), 0.0),
            static_cast<double>(values.size()));
  EXPECT_GT(buckets.front(), 0);
  EXPECT_GT(buckets.back(), 0);
}

TEST(Events, TensorboardForgetsWhatAResumedRunWritesAgain) {
  const TempFolder temp;
  {
    EventWriter first(temp.path());
    for (int step = 1; step <= 10; ++step) first.scalar("loss", step, step);
    first.histogram("weights", {1, 2}, 4);
    first.histogram("weights", {3, 4}, 8);
  }
  {
    EventWriter resumed(temp.path(), 4);  // from a checkpoint taken after step 4
    resumed.scalar("loss", 500, 5);
  }
  const auto view = tensorboard_view(temp);
  const nlohmann::json expected{{1, 1.0}, {2, 2.0}, {3, 3.0}, {4, 4.0}, {5, 500.0}};
  EXPECT_EQ(view["scalars"]["loss"], expected);
  ASSERT_EQ(view["histograms"]["weights"].size(), 1u);
  EXPECT_EQ(view["histograms"]["weights"][0]["step"], 4);
}

}  // namespace
}  // namespace adagp::io
