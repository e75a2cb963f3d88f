// norm_apply and norm_backward against their references.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_layer.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class NormApply : public KernelTest {};
class NormBackward : public KernelTest {};

const Map kMaps[] = {
    {256, 1, 1, 10},  {256, 2, 2, 512},  {16, 6, 4, 2048}, {3, 7, 7, 2056},    {33, 5, 5, 24},
    {7, 8, 8, 1},     {256, 8, 8, 8},    {5, 14, 14, 3},   {32, 32, 32, 64},   {2, 28, 28, 160},
    {1, 224, 224, 3}, {1, 112, 112, 64}, {1, 1, 1, 8},     {100, 16, 16, 128}, {12, 197, 1, 72},
};
constexpr Type kTypes[] = {Type::kFloat, Type::kBFloat16};

constexpr Mode kModes[] = {
    {false, false, false},      {true, false, false},      {false, true, false},
    {true, true, false},        {false, false, true},      {true, false, true},
    {true, false, false, 0.8F}, {true, true, false, 0.8F}, {true, false, true, 0.8F}};

bool even(const Map& map) {
  return map.height % 2 == 0 && map.width % 2 == 0;
}

// One fma, one addition, one rounding on both sides: the same bits.
TEST_F(NormApply, SameBitsAsReference) {
  for (const Map& map : kMaps) {
    for (const Type type : kTypes) {
      Layer layer(map, type);
      Bytes residual(packed(normal(elements(map), 8), type));
      for (const Mode& mode : kModes) {
        if (mode.pool && !even(map)) continue;
        SCOPED_TRACE(describe(map, type) + (mode.pool ? " pooled" : ""));
        Bytes y(layer.stats.x.host.size() / (mode.pool ? 4 : 1));
        cuda::norm_apply(apply_args(layer, mode, residual, y, true), nullptr);
        cuda::reference::norm_apply(apply_args(layer, mode, residual, y, false));
        EXPECT_TRUE(y.device.host() == y.host);
      }
    }
  }
}

TEST_F(NormApply, InPlace) {
  for (const Type type : kTypes) {
    for (const Map& map : {Map{32, 8, 8, 64}, Map{5, 7, 3, 10}}) {
      Layer layer(map, type);
      Bytes residual(packed(normal(elements(map), 8), type)), y(layer.stats.x.host);
      cuda::ApplyArgs kernel = apply_args(layer, {true, true, false}, residual, y, true);
      kernel.x = kernel.y;
      cuda::norm_apply(kernel, nullptr);
      cuda::reference::norm_apply(apply_args(layer, {true, true, false}, residual, y, false));
      EXPECT_TRUE(y.device.host() == y.host) << describe(map, type);
    }
  }
}

TEST_F(NormApply, RefusesToPoolWhatItCannot) {
  Layer odd({2, 3, 4, 8}, Type::kFloat), whole({2, 4, 4, 8}, Type::kFloat);
  Bytes residual(odd.stats.x.host), y(whole.stats.x.host);
  EXPECT_THROW(cuda::norm_apply(apply_args(odd, {true, false, true}, residual, y, true), nullptr),
               Error);
  EXPECT_THROW(cuda::norm_apply(apply_args(whole, {true, true, true}, residual, y, true), nullptr),
               Error);
}

TEST_F(NormBackward, EqualsReference) {
  for (const Map& map : kMaps) {
    for (const Type type : kTypes) {
      for (const Mode& mode : kModes) {
        // One value: dx is 0 but for rounding, which nothing bounds relative to it.
        if ((mode.pool && !even(map)) || map.positions() == 1) continue;
        SCOPED_TRACE(describe(map, type) + (mode.pool ? " pooled" : "") +
                     (mode.relu ? " relu" : "") + (mode.residual ? " residual" : ""));
        BackwardCase c(map, type, mode);
        const Workspace workspace(cuda::backward_workspace(map));
        cuda::reference::norm_backward(c.args(false, nullptr));
        for (int run = 0; run < 2; ++run) {  // the counters must be back at zero
          cuda::norm_backward(c.args(true, workspace.get()), nullptr);
          expect_equal_to_reference(c);
        }
        workspace.expect_guard_whole();
      }
    }
  }
}

// One workspace for norm_stats and norm_backward of all layers.
TEST_F(NormBackward, SharesTheWorkspaceOfTheStatistics) {
  const Map largest{256, 32, 32, 512};
  const Workspace workspace(
      std::max(cuda::stats_workspace(largest, 8), cuda::backward_workspace(largest)));
  for (const Map& map : {Map{32, 32, 32, 64}, Map{256, 2, 2, 512}, Map{9, 6, 6, 10}}) {
    BackwardCase c(map, Type::kBFloat16, {true, false, false});
    cuda::StatsArgs stats = c.layer.stats.args(true, true, true);
    stats.workspace = workspace.get();
    cuda::norm_stats(stats, nullptr);
    expect_close(c.layer.stats.mean.device.host(), c.layer.stats.mean.host, 1e-5, "mean");
    cuda::norm_backward(c.args(true, workspace.get()), nullptr);
    cuda::reference::norm_backward(c.args(false, nullptr));
    expect_equal_to_reference(c);
  }
}

// dz may replace dy, and dx may replace dy where there is no dz.
TEST_F(NormBackward, InPlace) {
  for (const bool residual : {true, false}) {
    for (const Map& map : {Map{32, 8, 8, 64}, Map{9, 5, 5, 10}}) {
      BackwardCase c(map, Type::kFloat, {true, residual, false});
      const Workspace workspace(cuda::backward_workspace(map));
      cuda::NormBackwardArgs kernel = c.args(true, workspace.get());
      (residual ? kernel.dz : kernel.dx) = c.dy.device.get();
      cuda::norm_backward(kernel, nullptr);
      cuda::reference::norm_backward(c.args(false, nullptr));
      const std::vector<float> replaced = unpacked(c.dy.device.host(), Type::kFloat);
      const Bytes& reference = residual ? c.dz : c.dx;
      expect_close(replaced, unpacked(reference.host, Type::kFloat), 1e-5, residual ? "dz" : "dx");
    }
  }
}

// Equal outputs in a window: the first in memory order gets the gradient, as torch does it.
TEST_F(NormBackward, TiesOfAPoolGoToTheFirst) {
  const Map map{4, 4, 4, 8};
  BackwardCase c(map, Type::kBFloat16, {true, false, true});
  std::vector<float> x(elements(map));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 8 % 3);
  c.layer.stats.x.host = packed(x, Type::kBFloat16);
  const Device<uint8_t> device_x(c.layer.stats.x.host);
  const Workspace workspace(cuda::backward_workspace(map));
  cuda::NormBackwardArgs kernel = c.args(true, workspace.get());
  kernel.x = device_x.get();
  cuda::norm_backward(kernel, nullptr);
  cuda::reference::norm_backward(c.args(false, nullptr));
  expect_equal_to_reference(c);
}

TEST_F(NormBackward, RefusesResidualWithoutOutput) {
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, true, false});
  cuda::NormBackwardArgs args = c.args(true, nullptr);
  args.y = nullptr;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
}

}  // namespace
}  // namespace adagp::test
