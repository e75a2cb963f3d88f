// Sweeps, fronts, equal-area comparisons and explanations.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "adagp/base/core/lookup.h"
#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/explain.h"
#include "adagp/sim/accel/sweep.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

TEST(ForEach, EveryIndexOnceAndTheLastProgressIsTheCount) {
  for (const unsigned threads : {0U, 1U, 3U, 16U}) {
    std::vector<std::atomic<int>> seen(1000);
    size_t last = 0;
    const auto caller = std::this_thread::get_id();
    for_each(
        seen.size(), threads, [&](size_t i) { ++seen[i]; },
        [&](size_t done) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          EXPECT_GE(done, last);
          last = done;
        });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
    EXPECT_EQ(last, seen.size());
  }
  for_each(0, 4, [](size_t) { FAIL(); });
}

TEST(ForEach, TheFirstErrorComesBack) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(for_each(100000, 4,
                        [&](size_t i) {
                          ++calls;
                          if (i == 5) throw DataError("five");
                        }),
               DataError);
  EXPECT_LT(calls, 100000);  // the rest was not worth doing
}

TEST(Sweep, EqualsOneAfterTheOther) {
  PlanOptions options;
  options.batch = 16;
  const Plan plan = make_plan(test::vgg13_cifar(), options);
  std::vector<Point> points;
  for (int64_t rows = 4; rows < 20; ++rows) {
    for (const Dataflow* dataflow : dataflows()) {
      Point point{&plan, dataflow, {}, {&kMax}, {schedule::Schedule::parse("paper", 90), 90, 391}};
      point.accelerator.array.rows = rows;
      points.push_back(point);
    }
  }
  points.push_back(points[0]);
  points.back().designs.clear();  // inference
  const auto results = sweep(points, 3);
  ASSERT_EQ(results.size(), points.size());
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const Point& p = points[i];
    const TrainingResult alone =
        simulate_training(plan, p.accelerator, *p.dataflow, p.designs, p.run);
    EXPECT_EQ(results[i].designs[0].cycles.total(), alone.designs[0].cycles.total());
    EXPECT_DOUBLE_EQ(results[i].designs[0].energy.total(), alone.designs[0].energy.total());
  }
  const Point& last = points.back();
  EXPECT_EQ(results.back().inference.array,
            simulate_inference(plan, last.accelerator, *last.dataflow).total.array);
}

TEST(Pareto, EqualsTheDefinition) {
  core::Rng rng(3);
  std::vector<double> x(200), y(200);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(rng.below(40));
    y[i] = static_cast<double>(rng.below(40));
  }
  std::vector<size_t> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < x.size(); ++j) {
      beaten |= x[j] <= x[i] && y[j] <= y[i] && (x[j] < x[i] || y[j] < y[i]);
    }
    if (!beaten) expected.push_back(i);
  }
  auto got = pareto(x, y);
  for (size_t i = 1; i < got.size(); ++i) EXPECT_LE(x[got[i - 1]], x[got[i]]);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected);
}

TEST(Iso, TheBaselineGetsThePes) {
  Accelerator accelerator;
  EXPECT_EQ(pes_with(accelerator.array, 10), 198);
  EXPECT_EQ(pes_with(accelerator.array, 11), 199);
  EXPECT_EQ(pes_with(accelerator.array, 0), 180);
  EXPECT_THROW(pes_with(accelerator.array, -1), UsageError);

  PlanOptions options;
  options.batch = 128;
  const Plan plan = make_plan(test::vgg13_cifar(), options);
  const BestArray best = best_array(plan, accelerator, kWeightStationary, 198);
  EXPECT_LE(best.array.pes(), 198);
  // No array of so many PEs that cannot grow does better; it takes what a run of one batch takes.
  const accel::Run run{schedule::Schedule::parse("bp", 1), 1, 1};
  const auto cycles_on = [&](int64_t rows, int64_t columns) {
    accelerator.array.rows = rows;
    accelerator.array.columns = columns;
    return simulate_training(plan, accelerator, kWeightStationary, {}, run).baseline.cycles.total();
  };
  int tried = 0;
  for (int64_t rows = 1; rows <= 198; ++rows) {
    for (int64_t columns = 1; rows * columns <= 198; ++columns) {
      if ((rows + 1) * columns <= 198 || rows * (columns + 1) <= 198) continue;
      EXPECT_GE(cycles_on(rows, columns), best.cycles);
      ++tried;
    }
  }
  EXPECT_GT(tried, 20);
  EXPECT_EQ(cycles_on(best.array.rows, best.array.columns), best.cycles);
}

TEST(Explain, FormulaNumbersAndResult) {
  PlanOptions options;
  options.batch = 128;
  const Plan plan = make_plan(test::resnet50(), options);
  const Accelerator accelerator;
  const std::string name = "layer2.0.conv2";
  for (const Dataflow* dataflow : dataflows()) {
    const std::string text = explain(plan, accelerator, *dataflow, name);
    const LayerPlan& layer = core::find_named(plan.layers, name, "no layer");
    for (const Work* work : {&layer.forward, &*layer.input_gradient, &*layer.weight_gradient}) {
      const int64_t cycles = dataflow->cost(*work, accelerator.array).cycles;
      EXPECT_NE(text.find(core::cat("= ", cycles, "\n")), std::string::npos)
          << dataflow->name << ": " << cycles << " not in\n"
          << text;
    }
  }
  const std::string ws = explain(plan, accelerator, kWeightStationary, name);
  EXPECT_NE(ws.find("ceil(1152/12) * ceil(128/15) * (100352 + 24 + 15 - 2)"), std::string::npos)
      << ws;
  // In place the layer's N = 128 lies along the rows and its K = 1152 along the columns in every
  // pass; the letters are those of the pass's own product.
  const std::string in_place = explain(plan, accelerator, kInPlaceTransposed, name);
  for (const char* part :
       {"dX = dY W^T: M = 100352, K = 128, N = 1152,",
        "cycles = ceil(K/H) * ceil(N/W) * (M + H + W - 2)",
        "= ceil(128/12) * ceil(1152/15) * (100352 + 12 + 15 - 2)",
        "dW = X^T dY: M = 1152, K = 100352, N = 128,",
        "cycles = ceil(N/H) * ceil(M/W) * (K + H + W - 2)", "filter 0 (kept in the PEs)"}) {
    EXPECT_NE(in_place.find(part), std::string::npos) << part << " not in\n" << in_place;
  }
  try {
    explain(plan, accelerator, kWeightStationary, "layer2.0.conv22");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'layer2.0.conv2'"), std::string::npos);
  }
}

}  // namespace
}  // namespace adagp::accel
