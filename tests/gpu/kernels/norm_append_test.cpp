// norm_stats where it appends channels to a wider map, and norm_moments, against their references.

#include <cmath>

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class NormAppend : public KernelTest {};

// As in norm_test.cpp: the pivot is near the mean, partial sums are short.
constexpr double kTolerance = 1e-5;
constexpr Type kTypes[] = {Type::kFloat, Type::kBFloat16};

// `map` goes to channels [first, ...) of a map of `room` channels.
struct Place {
  Map map;
  int64_t room, first;
};
const Place kPlaces[] = {
    {{16, 8, 8, 32}, 128, 64}, {{64, 28, 28, 32}, 256, 224},
    {{8, 56, 56, 64}, 256, 0}, {{256, 4, 4, 512}, 1024, 0},
    {{33, 5, 5, 24}, 64, 40},  {{7, 5, 3, 12}, 40, 16},  // channels of no eight
    {{9, 6, 6, 24}, 59, 16},                             // an odd pitch
    {{5, 7, 7, 16}, 64, 3},                              // an odd address
    {{19, 14, 14, 8}, 32, 4},  // an address for float's vectors, not for bf16's
    {{3, 32, 32, 1}, 8, 7},    {{4, 7, 7, 2056}, 4112, 8},
    {{1, 224, 224, 3}, 16, 8}, {{2, 5, 3, 8}, 16, 8},
};

constexpr float kBefore = 7;  // in the means and variances

struct AppendCase {
  AppendCase(const Place& at, Type of, std::vector<float> values)
      : place(at),
        type(of),
        x(packed(values, of)),
        wide(std::vector<uint8_t>(
            static_cast<size_t>(at.map.positions() * at.room * cuda::size_of(of)), 0x5A)),
        mean(std::vector<float>(static_cast<size_t>(at.room), kBefore)),
        variance(std::vector<float>(static_cast<size_t>(at.room), kBefore)),
        summary(static_cast<size_t>(at.map.channels * 64)),
        cells(static_cast<size_t>(at.map.channels * cuda::summary_cells(at.map, 8))) {}
  AppendCase(const Place& at, Type of) : AppendCase(at, of, activation(at.map, 1)) {}

  cuda::StatsArgs args(bool kernel) {
    cuda::StatsArgs a;
    a.x = x.at(kernel), a.type = type, a.map = place.map;
    a.copy = wide.at(kernel) + place.first * cuda::size_of(type), a.copy_pitch = place.room;
    a.mean = mean.at(kernel) + place.first, a.variance = variance.at(kernel) + place.first;
    return a;
  }

  Place place;
  Type type;
  Bytes x, wide;
  Floats mean, variance, summary, cells;
};

enum class Tap { kNone, kSummary, kCells };

void run_both(AppendCase& c, Tap tap, void* workspace) {
  for (const bool kernel : {false, true}) {
    cuda::StatsArgs a = c.args(kernel);
    if (tap == Tap::kSummary) a.summary = c.summary.at(kernel);
    if (tap == Tap::kCells) a.cells = c.cells.at(kernel);
    a.workspace = workspace;
    kernel ? cuda::norm_stats(a, nullptr) : cuda::reference::norm_stats(a);
  }
}

// What is beside the appended channels is as it was.
void expect_only_these(const std::vector<float>& values, const Place& place, const char* what) {
  for (int64_t i = 0; i < place.room; ++i) {
    if (i >= place.first && i < place.first + place.map.channels) continue;
    ASSERT_EQ(values[static_cast<size_t>(i)], kBefore) << what << " " << i;
  }
}

TEST_F(NormAppend, CopyAndStatisticsEqualTheReferenceAndNothingBesideIsTouched) {
  for (const Place& place : kPlaces) {
    for (const Type type : kTypes) {
      for (const Tap tap : {Tap::kNone, Tap::kSummary, Tap::kCells}) {
        SCOPED_TRACE(describe(place.map, type) + " at " + std::to_string(place.first) + " tap " +
                     std::to_string(static_cast<int>(tap)));
        AppendCase c(place, type);
        const Workspace workspace(cuda::stats_workspace(place.map, 8));
        run_both(c, tap, workspace.get());
        EXPECT_TRUE(c.wide.device.host() == c.wide.host) << "copy";
        expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
        expect_close(c.variance.device.host(), c.variance.host, kTolerance, "variance");
        expect_only_these(c.mean.device.host(), place, "means");
        expect_only_these(c.variance.device.host(), place, "variances");
        expect_close(c.summary.device.host(), c.summary.host, kTolerance, "summary");
        expect_close(c.cells.device.host(), c.cells.host, kTolerance, "cells");
        workspace.expect_guard_whole();
        // Again: the counters must be back at zero, and the same input gives the same bits.
        AppendCase again(place, type);
        run_both(again, tap, workspace.get());
        EXPECT_TRUE(again.mean.device.host() == c.mean.device.host());
        EXPECT_TRUE(again.variance.device.host() == c.variance.device.host());
        EXPECT_TRUE(again.summary.device.host() == c.summary.device.host());
        EXPECT_TRUE(again.cells.device.host() == c.cells.device.host());
      }
    }
  }
}

// The cells of a call that appends are those of a call that does nothing else.
TEST_F(NormAppend, CellsEqualThoseOfASeparateCall) {
  for (const Place& place : kPlaces) {
    for (const Type type : kTypes) {
      SCOPED_TRACE(describe(place.map, type));
      AppendCase c(place, type), alone(place, type);
      const Workspace workspace(cuda::stats_workspace(place.map, 8));
      cuda::StatsArgs a = c.args(true), b;
      a.cells = c.cells.at(true), a.workspace = workspace.get();
      b.x = alone.x.at(true), b.type = type, b.map = place.map;
      b.cells = alone.cells.at(true), b.workspace = workspace.get();
      cuda::norm_stats(a, nullptr);
      cuda::norm_stats(b, nullptr);
      expect_close(c.cells.device.host(), alone.cells.device.host(), kTolerance, "cells");
    }
  }
}

// A second use of the layer is averaged in, with the first position's value as the pivot.
TEST_F(NormAppend, TheSummaryOfASecondUseIsTheMean) {
  AppendCase c({{6, 9, 5, 16}, 48, 16}, Type::kBFloat16);
  const Workspace workspace(cuda::stats_workspace(c.place.map, 8));
  const std::vector<float> first = normal(c.summary.host.size(), 8, 3.0F);
  c.summary.host = first;
  const Floats rows(first);
  cuda::StatsArgs kernel = c.args(true), reference = c.args(false);
  kernel.summary = rows.device.get(), reference.summary = c.summary.at(false);
  kernel.use = reference.use = 2, kernel.workspace = workspace.get();
  cuda::norm_stats(kernel, nullptr);
  cuda::reference::norm_stats(reference);
  expect_close(rows.device.host(), c.summary.host, kTolerance, "summary");
}

// x itself may be some channels of a wider map.
TEST_F(NormAppend, TakesAPartOfAMap) {
  const Place place{{5, 6, 7, 24}, 64, 32};
  for (const Type type : kTypes) {
    AppendCase c(place, type);
    const Map source{5, 6, 7, 40};
    const std::vector<float> wide = activation(source, 3);
    std::vector<float> dense(elements(place.map));
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = wide[i / 24 * 40 + i % 24];
    const Bytes from(packed(wide, type));
    c.x.host = packed(dense, type);
    const Workspace workspace(cuda::stats_workspace(place.map, 8));
    cuda::StatsArgs a = c.args(true);
    a.x = from.device.get(), a.pitch = 40, a.workspace = workspace.get();
    cuda::norm_stats(a, nullptr);
    cuda::reference::norm_stats(c.args(false));
    EXPECT_TRUE(c.wide.device.host() == c.wide.host);
    expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
    expect_close(c.variance.device.host(), c.variance.host, kTolerance, "variance");
  }
}

// Squares of values far from zero would lose all digits of the variance; the first value, from
// which the others are not far, keeps them.
TEST_F(NormAppend, KeepsTheVarianceOfValuesFarFromZero) {
  const Place place{{32, 8, 8, 64}, 64, 0};
  AppendCase c(place, Type::kFloat, normal(elements(place.map), 7, 1000, 0.5F));
  const Workspace workspace(cuda::stats_workspace(place.map, 8));
  run_both(c, Tap::kCells, workspace.get());
  expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
  expect_close(c.variance.device.host(), c.variance.host, kTolerance, "variance");
  expect_close(c.cells.device.host(), c.cells.host, kTolerance, "cells");
}

// A diverged channel is seen and leaves the others alone, wherever its first bad value is.
TEST_F(NormAppend, WhatIsNotFiniteStaysInItsChannel) {
  const Place place{{8, 6, 6, 16}, 32, 16};
  for (const Type type : kTypes) {
    std::vector<float> values = activation(place.map, 1);
    values[0] = NAN, values[1] = INFINITY, values[5 * 16 + 2] = INFINITY, values[9 * 16 + 3] = NAN;
    AppendCase c(place, type, values);
    const Workspace workspace(cuda::stats_workspace(place.map, 8));
    run_both(c, Tap::kCells, workspace.get());
    EXPECT_TRUE(c.wide.device.host() == c.wide.host);
    const std::vector<float> mean = c.mean.device.host(), variance = c.variance.device.host();
    for (size_t i = 0; i < 16; ++i) {
      const size_t at = i + 16;
      EXPECT_EQ(std::isfinite(mean[at]), i > 3) << i;
      if (i <= 3) continue;
      EXPECT_NEAR(mean[at], c.mean.host[at], 1e-5 * std::fabs(c.mean.host[at]) + 1e-5);
      EXPECT_NEAR(variance[at], c.variance.host[at], 1e-5 * c.variance.host[at]);
    }
    const std::vector<float> cells = c.cells.device.host();
    for (size_t i = 0; i < cells.size(); ++i) {
      const float expected = c.cells.host[i];
      EXPECT_EQ(std::isfinite(cells[i]), std::isfinite(expected)) << i;
      if (std::isfinite(expected)) {
        EXPECT_NEAR(cells[i], expected, 1e-3) << i;
      }
    }
  }
}

TEST_F(NormAppend, RefusesHalfOfItAndANormBeside) {
  AppendCase c({{2, 4, 4, 8}, 16, 8}, Type::kFloat);
  const Floats weight(size_t{8});
  const Workspace workspace(cuda::stats_workspace(c.place.map, 8));
  const auto refused = [&](const auto& change) {
    cuda::StatsArgs a = c.args(true);
    a.workspace = workspace.get();
    change(a);
    EXPECT_THROW(cuda::norm_stats(a, nullptr), Error);
  };
  refused([](cuda::StatsArgs& a) { a.copy = nullptr; });
  refused([](cuda::StatsArgs& a) { a.variance = nullptr; });
  refused([](cuda::StatsArgs& a) { a.mean = nullptr; });
  refused([&](cuda::StatsArgs& a) { a.weight = weight.device.get(); });
  refused([](cuda::StatsArgs& a) { a.copy_pitch = 4; });  // positions would overlap
}

// The norm's own part of a StatsCase.
cuda::MomentsArgs moments(StatsCase& c, AppendCase& appended, bool kernel) {
  const cuda::StatsArgs part = c.args(kernel, true, false);
  return {part, c.map.channels, c.map.positions(), appended.mean.at(kernel),
          appended.variance.at(kernel)};
}

void expect_same_norm(const StatsCase& a, const StatsCase& b, double tolerance) {
  expect_close(a.mean.device.host(), b.mean.device.host(), tolerance, "mean");
  expect_close(a.inv_std.device.host(), b.inv_std.device.host(), tolerance, "inv_std");
  expect_close(a.scale.device.host(), b.scale.device.host(), tolerance, "scale");
  expect_close(a.shift.device.host(), b.shift.device.host(), tolerance, "shift");
  expect_close(a.running_mean.device.host(), b.running_mean.device.host(), tolerance, "mean moved");
  expect_close(a.running_var.device.host(), b.running_var.device.host(), tolerance, "var moved");
  EXPECT_EQ(a.batches.device.host(), b.batches.device.host());
}

// A norm of appended channels is the norm that reads them itself.
TEST_F(NormAppend, MomentsEqualThoseOfNormStats) {
  for (const Map& map : {Map{16, 8, 8, 32}, Map{33, 5, 5, 24}, Map{7, 5, 3, 300}, Map{2, 3, 3, 10},
                         Map{2, 4, 4, 2056}}) {
    for (const Type type : kTypes) {
      SCOPED_TRACE(describe(map, type));
      StatsCase at_once(map, type), later(map, type);
      AppendCase appended({map, map.channels, 0}, type);
      const Workspace workspace(cuda::stats_workspace(map, 8));
      cuda::StatsArgs a = at_once.args(true, true, false), b = appended.args(true);
      a.workspace = b.workspace = workspace.get();
      cuda::norm_stats(a, nullptr);
      cuda::norm_stats(b, nullptr);
      cuda::norm_moments(moments(later, appended, true), nullptr);
      EXPECT_EQ(later.batches.device.host(), std::vector<int64_t>{42});
      expect_same_norm(later, at_once, kTolerance);
      // And the reference, from the same statistics.
      appended.mean.host = appended.mean.device.host();
      appended.variance.host = appended.variance.device.host();
      cuda::reference::norm_moments(moments(later, appended, false));
      expect_close(later.scale.device.host(), later.scale.host, 1e-6, "scale");
      expect_close(later.shift.device.host(), later.shift.host, 1e-6, "shift");
      expect_close(later.running_var.device.host(), later.running_var.host, 1e-6, "var moved");
    }
  }
}

// Inside KeepStatistics: a momentum of zero and no count.
TEST_F(NormAppend, MomentsWithoutMomentumMoveNothing) {
  const Map map{4, 5, 5, 40};
  StatsCase c(map, Type::kFloat);
  AppendCase appended({map, map.channels, 0}, Type::kFloat);
  const Workspace workspace(cuda::stats_workspace(map, 8));
  cuda::StatsArgs stats = appended.args(true);
  stats.workspace = workspace.get();
  cuda::norm_stats(stats, nullptr);
  cuda::MomentsArgs a = moments(c, appended, true);
  a.momentum = 0, a.batches = nullptr, a.bias = nullptr, a.conv_bias = nullptr;
  cuda::norm_moments(a, nullptr);
  EXPECT_TRUE(c.running_mean.device.host() == c.running_mean.host);
  EXPECT_TRUE(c.running_var.device.host() == c.running_var.host);
  EXPECT_EQ(c.batches.device.host(), std::vector<int64_t>{41});
  const std::vector<float> scale = c.scale.device.host(), mean = c.mean.device.host();
  const std::vector<float> shift = c.shift.device.host();
  for (size_t i = 0; i < scale.size(); ++i) EXPECT_NEAR(shift[i], -mean[i] * scale[i], 1e-5);
}

// torch's unbiased variance of one value is 0/0.
TEST_F(NormAppend, OneValueHasNoUnbiasedVariance) {
  const Map map{1, 1, 1, 24};
  StatsCase c(map, Type::kFloat);
  AppendCase appended({map, map.channels, 0}, Type::kFloat);
  const Workspace workspace(cuda::stats_workspace(map, 8));
  run_both(appended, Tap::kSummary, workspace.get());
  EXPECT_EQ(appended.variance.device.host(), std::vector<float>(24, 0.0F));
  EXPECT_TRUE(appended.mean.device.host() == unpacked(appended.x.host, Type::kFloat));
  expect_close(appended.summary.device.host(), appended.summary.host, kTolerance, "summary");
  cuda::norm_moments(moments(c, appended, true), nullptr);
  for (const float value : c.running_var.device.host()) EXPECT_TRUE(std::isnan(value));
  for (const float value : c.scale.device.host()) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace adagp::test
