// norm_stats and eval_scale against their references.

#include "gpu/kernels/norm_fixture.h"

#include <cmath>
#include <memory>

#include "adagp/base/core/error.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class NormStats : public KernelTest {};

// Sums of float are exact to a few ulp here (the pivot is near the mean, partial sums are short),
// so both types, which are read exactly, have the same bound.
constexpr double kTolerance = 1e-5;

void expect_equal_to_reference(StatsCase& c, bool norm, bool summary) {
  if (norm) {
    expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
    expect_close(c.inv_std.device.host(), c.inv_std.host, kTolerance, "inv_std");
    expect_close(c.scale.device.host(), c.scale.host, kTolerance, "scale");
    expect_close(c.shift.device.host(), c.shift.host, kTolerance, "shift");
    expect_close(c.running_mean.device.host(), c.running_mean.host, kTolerance, "running_mean");
    expect_close(c.running_var.device.host(), c.running_var.host, kTolerance, "running_var");
    EXPECT_EQ(c.batches.device.host(), c.batches.host);
  }
  if (summary) expect_close(c.summary.device.host(), c.summary.host, kTolerance, "summary");
}

void run_both(StatsCase& c, bool norm, bool summary, int use, void* workspace) {
  cuda::StatsArgs kernel = c.args(true, norm, summary), reference = c.args(false, norm, summary);
  kernel.use = reference.use = use;
  kernel.workspace = workspace;
  cuda::norm_stats(kernel, nullptr);
  cuda::reference::norm_stats(reference);
}

const Map kMaps[] = {
    {256, 1, 1, 10},  {256, 1, 1, 512}, {256, 2, 2, 512}, {256, 4, 4, 64},   {33, 5, 5, 24},
    {256, 7, 7, 3},   {16, 7, 7, 2048}, {256, 8, 8, 8},   {19, 14, 14, 24},  {16, 16, 16, 64},
    {8, 28, 28, 64},  {4, 28, 28, 1},   {64, 32, 32, 64}, {2, 56, 56, 24},   {1, 112, 112, 64},
    {1, 224, 224, 3}, {2, 224, 224, 8}, {5, 3, 11, 10},   {1, 5, 9, 512},    {12, 197, 1, 72},
    {3, 6, 50, 160},  {4, 1, 77, 136},  {7, 15, 31, 88},  {256, 1, 1, 2048},
};

TEST_F(NormStats, EqualsReferenceOnEveryShape) {
  for (const Map& map : kMaps) {
    for (const Type type : {Type::kFloat, Type::kBFloat16}) {
      SCOPED_TRACE(describe(map, type));
      StatsCase c(map, type);
      const Workspace workspace(cuda::stats_workspace(map, c.size));
      // Twice in a row: the counters must be back at zero, and the second use is averaged in.
      run_both(c, true, true, 1, workspace.get());
      expect_equal_to_reference(c, true, true);
      run_both(c, true, true, 2, workspace.get());
      expect_equal_to_reference(c, true, true);
      workspace.expect_guard_whole();
    }
  }
}

// Sums by cell now, all layers' summaries later: the same rows.
TEST_F(NormStats, CellsPooledLaterEqualTheReference) {
  std::vector<std::unique_ptr<StatsCase>> cases;
  std::vector<std::unique_ptr<Floats>> cells;
  std::vector<cuda::PoolArgs> kernel;
  for (const Map& map : kMaps) {
    const auto count = static_cast<size_t>(cuda::summary_cells(map, 8) * map.channels);
    cases.push_back(std::make_unique<StatsCase>(map, Type::kBFloat16));
    cells.push_back(std::make_unique<Floats>(count));
    StatsCase& c = *cases.back();
    const Workspace workspace(cuda::stats_workspace(map, 8));
    cuda::StatsArgs a = c.args(true, true, false), b = c.args(false, true, false);
    a.cells = cells.back()->at(true), b.cells = cells.back()->at(false);
    a.workspace = workspace.get();
    cuda::norm_stats(a, nullptr);
    cuda::reference::norm_stats(b);
    SCOPED_TRACE(describe(map, Type::kBFloat16));
    expect_equal_to_reference(c, true, false);
    expect_close(cells.back()->device.host(), cells.back()->host, kTolerance, "cells");
    workspace.expect_guard_whole();
    kernel.push_back({cells.back()->at(true), map, c.summary.at(true)});
    // The definition of the summary itself, not of its way through cells.
    cuda::StatsArgs whole = c.args(false, false, true);
    cuda::reference::norm_stats(whole);
  }
  cuda::pool_cells(kernel.data(), static_cast<int64_t>(kernel.size()), 8, nullptr);
  for (const auto& c : cases) {
    SCOPED_TRACE(describe(c->map, c->type));
    expect_close(c->summary.device.host(), c->summary.host, kTolerance, "summary");
  }
}

// All launches of a step share one workspace, sized by the largest of each side.
TEST_F(NormStats, SharedWorkspaceWithAndWithoutSummary) {
  const Workspace workspace(cuda::stats_workspace({256, 224, 224, 2048}, 8));
  for (const Map& map : kMaps) {
    StatsCase norm(map, Type::kBFloat16), summary(map, Type::kFloat);
    SCOPED_TRACE(describe(map, Type::kBFloat16));
    run_both(norm, true, false, 1, workspace.get());
    run_both(summary, false, true, 1, workspace.get());
    expect_equal_to_reference(norm, true, false);
    expect_equal_to_reference(summary, false, true);
    EXPECT_EQ(summary.batches.device.host(), std::vector<int64_t>{41});
  }
  workspace.expect_guard_whole();
}

TEST_F(NormStats, OtherSizesOfTheSummary) {
  for (const int size : {1, 3, 16}) {
    for (const Map& map : {Map{9, 14, 14, 24}, Map{3, 33, 47, 10}, Map{4, 64, 64, 64}}) {
      SCOPED_TRACE(describe(map, Type::kFloat) + " to " + std::to_string(size));
      StatsCase c(map, Type::kFloat, size);
      const Workspace workspace(cuda::stats_workspace(map, size));
      run_both(c, true, true, 1, workspace.get());
      expect_equal_to_reference(c, true, true);
      workspace.expect_guard_whole();
    }
  }
  StatsCase c({2, 4, 4, 8}, Type::kFloat, 17);
  EXPECT_THROW(cuda::norm_stats(c.args(true, false, true), nullptr), Error);
}

// The sums are added in a fixed order.
TEST_F(NormStats, SameBitsEveryTime) {
  const Map map{64, 28, 28, 64};
  const Workspace workspace(cuda::stats_workspace(map, 8));
  std::vector<float> mean, inv_std, summary;
  for (int run = 0; run < 5; ++run) {
    StatsCase c(map, Type::kBFloat16);
    cuda::StatsArgs args = c.args(true, true, true);
    args.workspace = workspace.get();
    cuda::norm_stats(args, nullptr);
    if (run == 0) {
      mean = c.mean.device.host(), inv_std = c.inv_std.device.host();
      summary = c.summary.device.host();
    }
    EXPECT_EQ(c.mean.device.host(), mean);
    EXPECT_EQ(c.inv_std.device.host(), inv_std);
    EXPECT_EQ(c.summary.device.host(), summary);
  }
}

// Squares of values far from zero would lose all digits of the variance; the running mean, once it
// is near, keeps them.
TEST_F(NormStats, KeepsTheVarianceOfValuesFarFromZero) {
  const Map map{32, 8, 8, 64};
  StatsCase c(map, Type::kFloat);
  const std::vector<float> far = normal(elements(map), 7, 1000, 0.5F);
  c.x.host = packed(far, Type::kFloat);
  const Bytes x(c.x.host);
  c.conv_bias.host.assign(c.channels, 0);
  c.running_mean.host.assign(c.channels, 1000.2F);
  const Floats conv_bias(c.conv_bias.host), running_mean(c.running_mean.host);
  const Workspace workspace(cuda::stats_workspace(map, 8));
  cuda::StatsArgs kernel = c.args(true, true, false);
  kernel.x = x.device.get(), kernel.workspace = workspace.get();
  kernel.conv_bias = conv_bias.device.get(), kernel.running_mean = running_mean.device.get();
  cuda::norm_stats(kernel, nullptr);
  cuda::reference::norm_stats(c.args(false, true, false));
  expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
  expect_close(c.inv_std.device.host(), c.inv_std.host, kTolerance, "inv_std");
}

// torch's unbiased variance of one value is 0/0.
TEST_F(NormStats, OneValueHasNoUnbiasedVariance) {
  StatsCase c({1, 1, 1, 24}, Type::kFloat);
  const Workspace workspace(cuda::stats_workspace(c.map, 8));
  run_both(c, true, true, 1, workspace.get());
  for (const float value : c.running_var.device.host()) EXPECT_TRUE(std::isnan(value));
  for (const float value : c.running_var.host) EXPECT_TRUE(std::isnan(value));
  expect_close(c.inv_std.device.host(), c.inv_std.host, kTolerance, "inv_std");
  expect_close(c.mean.device.host(), c.mean.host, kTolerance, "mean");
  expect_close(c.summary.device.host(), c.summary.host, kTolerance, "summary");
}

// Pointers that no 16-byte load may use.
TEST_F(NormStats, OddAddressesAreReadOneByOne) {
  const Map map{6, 9, 5, 64};
  for (const Type type : {Type::kFloat, Type::kBFloat16}) {
    StatsCase c(map, type);
    const auto shift = static_cast<size_t>(cuda::size_of(type));
    std::vector<uint8_t> moved(shift);
    moved.insert(moved.end(), c.x.host.begin(), c.x.host.end());
    const Device<uint8_t> x(moved);
    const Workspace workspace(cuda::stats_workspace(map, 8));
    cuda::StatsArgs kernel = c.args(true, true, true);
    kernel.x = x.get() + shift, kernel.workspace = workspace.get();
    cuda::norm_stats(kernel, nullptr);
    cuda::reference::norm_stats(c.args(false, true, true));
    expect_equal_to_reference(c, true, true);
  }
}

TEST_F(NormStats, EvalScaleEqualsReference) {
  for (const size_t channels : {1, 10, 512, 2048}) {
    Floats weight(positive(channels, 1)), bias(normal(channels, 2)), conv_bias(normal(channels, 3));
    Floats mean(normal(channels, 4)), var(positive(channels, 5)), scale(channels), shift(channels);
    for (const bool has_bias : {true, false}) {
      const auto args = [&](bool kernel) {
        cuda::EvalScaleArgs a;
        a.channels = static_cast<int64_t>(channels);
        a.weight = weight.at(kernel), a.bias = bias.at(kernel);
        if (has_bias) a.conv_bias = conv_bias.at(kernel);
        a.running_mean = mean.at(kernel), a.running_var = var.at(kernel);
        a.scale = scale.at(kernel), a.shift = shift.at(kernel);
        return a;
      };
      cuda::eval_scale(args(true), nullptr);
      cuda::reference::eval_scale(args(false));
      // A root, a quotient and a product in float: a few ulp.
      expect_close(scale.device.host(), scale.host, 1e-6, "scale");
      expect_close(shift.device.host(), shift.host, 1e-6, "shift");
    }
  }
}

}  // namespace
}  // namespace adagp::test
