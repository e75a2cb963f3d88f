// What a watcher of the forward pass may rely on.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/predictor/summaries.h"
#include "unit/predictor/net.h"

namespace adagp::predictor {
namespace {

void show(Summaries& summaries, const nn::WeightLayer& layer, int64_t channels) {
  summaries.on_output(layer, at::ones({2, 3, 4, 4}), at::ones({2, channels, 4, 4}));
}

TEST(Summaries, ALayerHasReportedWhenItsCellsAreQueued) {
  testing_net::OddNet net;
  Summaries summaries(net.layers, 8);
  std::vector<std::vector<size_t>> seen;  // layers that had reported, at each call
  summaries.watch([&] {
    seen.emplace_back();
    for (size_t l = 0; l < summaries.count(); ++l) {
      if (summaries.has_reported(l)) seen.back().push_back(l);
    }
  });
  summaries.begin();
  show(summaries, *net.layers[0], 4);
  const auto outer = summaries.summary_target(*net.layers[1]);
  ASSERT_TRUE(outer && outer->cells != nullptr);
  // A layer inside the other one: that has begun, and its kernel is not queued.
  show(summaries, *net.layers[2], 6);
  const std::vector<char> all(summaries.count(), 1);
  EXPECT_TRUE(summaries.take_rows(all).empty());
  outer->cells->queued = true;
  summaries.on_summary(*net.layers[1]);
  std::vector<char> others = all;
  others[1] = 0;
  EXPECT_TRUE(summaries.take_rows(others).empty());
  EXPECT_EQ(summaries.take_rows(all), (std::vector<size_t>{1}));
  EXPECT_TRUE(summaries.take_rows(all).empty()) << "nobody makes them twice";
  show(summaries, *net.layers[3], 5);
  EXPECT_EQ(seen, (std::vector<std::vector<size_t>>{{0}, {0, 2}, {0, 1, 2}, {0, 1, 2, 3}}));

  summaries.end();  // without kernels it would throw if there were rows left to make

  summaries.begin();
  for (size_t l = 0; l < summaries.count(); ++l) EXPECT_FALSE(summaries.has_reported(l)) << l;
  EXPECT_TRUE(summaries.take_rows(all).empty());
}

TEST(Summaries, KnowWhetherEachLayerWasUsedOnce) {
  testing_net::OddNet net;
  Summaries summaries(net.layers, 8);
  const int64_t channels[] = {4, 2, 6, 5};
  const auto pass = [&](int64_t parts, size_t again) {
    summaries.begin(parts);
    for (size_t l = 0; l < 4; ++l) show(summaries, *net.layers[l], channels[l]);
    summaries.on_output(*net.layers[4], at::ones({2, 7}), at::ones({2, 3}));
    if (again < 4) show(summaries, *net.layers[again], channels[again]);
    summaries.end();
    return summaries.each_used_once();
  };
  EXPECT_FALSE(summaries.each_used_once());  // no pass yet
  EXPECT_TRUE(pass(1, 9));
  EXPECT_FALSE(pass(1, 2));
  EXPECT_FALSE(pass(2, 9));
  EXPECT_TRUE(pass(1, 9));
}

}  // namespace
}  // namespace adagp::predictor
