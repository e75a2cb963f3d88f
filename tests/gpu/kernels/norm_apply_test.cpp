// norm_apply and norm_backward against their references.

#include "gpu/kernels/norm_fixture.h"

#include <algorithm>
#include <cmath>

#include "adagp/core/error.h"

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

bool even(const Map& map) {
  return map.height % 2 == 0 && map.width % 2 == 0;
}

// What follows norm_stats: statistics of x from the reference, on both sides.
struct Layer {
  Layer(const Map& shape, Type of) : map(shape), stats(shape, of) {
    cuda::reference::norm_stats(stats.args(false, true, false));
    mean = std::make_unique<Floats>(stats.mean.host);
    inv_std = std::make_unique<Floats>(stats.inv_std.host);
    scale = std::make_unique<Floats>(stats.scale.host);
    shift = std::make_unique<Floats>(stats.shift.host);
  }
  Map map;
  StatsCase stats;
  std::unique_ptr<Floats> mean, inv_std, scale, shift;
};

struct Mode {
  bool relu, residual, pool;
  float cap = cuda::kNoCap;
};
constexpr Mode kModes[] = {
    {false, false, false},      {true, false, false},      {false, true, false},
    {true, true, false},        {false, false, true},      {true, false, true},
    {true, false, false, 0.8F}, {true, true, false, 0.8F}, {true, false, true, 0.8F}};

cuda::ApplyArgs apply_args(Layer& layer, const Mode& mode, Bytes& residual, Bytes& y, bool kernel) {
  cuda::ApplyArgs a;
  a.x = layer.stats.x.at(kernel), a.type = layer.stats.type, a.map = layer.map;
  a.scale = layer.scale->at(kernel), a.shift = layer.shift->at(kernel);
  if (mode.residual) a.residual = residual.at(kernel);
  a.relu = mode.relu, a.cap = mode.cap, a.pool = mode.pool, a.y = y.at(kernel);
  return a;
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

// Everything norm_backward reads and writes.
struct BackwardCase {
  BackwardCase(const Map& map, Type type, const Mode& of)
      : layer(map, type),
        mode(of),
        residual(packed(normal(elements(map), 8), type)),
        y(packed(outputs(), type)),
        dy(packed(gradient(), type)),
        dz(layer.stats.x.host.size()),
        dx(layer.stats.x.host.size()),
        dweight(static_cast<size_t>(map.channels)),
        dbias(static_cast<size_t>(map.channels)) {}

  // From the reference, so that both sides see the same y.
  std::vector<float> outputs() {
    Bytes out(layer.stats.x.host.size() / (mode.pool ? 4 : 1));
    cuda::reference::norm_apply(apply_args(layer, mode, residual, out, false));
    return unpacked(out.host, layer.stats.type);
  }
  // With a mean and some of x in it, so that the sums are far from zero.
  std::vector<float> gradient() const {
    const std::vector<float> x = unpacked(layer.stats.x.host, layer.stats.type);
    std::vector<float> out = normal(x.size() / (mode.pool ? 4 : 1), 9, 0.3F);
    for (size_t i = 0; i < out.size(); ++i) out[i] += mode.pool ? 0.0F : 0.2F * x[i];
    return out;
  }

  cuda::NormBackwardArgs args(bool kernel, void* workspace) {
    cuda::NormBackwardArgs a;
    a.x = layer.stats.x.at(kernel), a.dy = dy.at(kernel), a.dx = dx.at(kernel);
    if (mode.residual) a.dz = dz.at(kernel);
    if (mode.residual && mode.relu) a.y = y.at(kernel);
    a.type = layer.stats.type, a.map = layer.map;
    a.relu = mode.relu, a.cap = mode.cap, a.pool = mode.pool;
    a.mean = layer.mean->at(kernel), a.inv_std = layer.inv_std->at(kernel);
    a.scale = layer.scale->at(kernel), a.shift = layer.shift->at(kernel);
    a.dweight = dweight.at(kernel), a.dbias = dbias.at(kernel), a.workspace = workspace;
    return a;
  }

  Layer layer;
  Mode mode;
  Bytes residual, y, dy, dz, dx;
  Floats dweight, dbias;
};

// In float the sums differ by a few ulp. In bf16, what is nearly the same may in addition be
// rounded to the neighbour, which is at most 2^-7 of the value away.
void expect_same_dx(const BackwardCase& c) {
  const Type type = c.layer.stats.type;
  const std::vector<float> got = unpacked(c.dx.device.host(), type);
  const std::vector<float> expected = unpacked(c.dx.host, type);
  if (type == Type::kFloat) return expect_close(got, expected, 1e-5, "dx");
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - expected[i]),
              std::ldexp(std::fabs(expected[i]), -7) + 1e-5F * largest)
        << "dx[" << i << "]: got " << got[i] << ", expected " << expected[i];
  }
}

void expect_equal_to_reference(const BackwardCase& c) {
  expect_close(c.dbias.device.host(), c.dbias.host, 1e-5, "dbias");
  expect_close(c.dweight.device.host(), c.dweight.host, 1e-5, "dweight");
  expect_same_dx(c);
  if (c.mode.residual) {
    EXPECT_TRUE(c.dz.device.host() == c.dz.host) << "dz";
  }
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

// A map that is the first channels of a wider one, as a dense block has it.
std::vector<float> widened(const std::vector<float>& dense, const Map& map, int64_t pitch,
                           float beside) {
  std::vector<float> out(static_cast<size_t>(map.positions() * pitch), beside);
  for (int64_t i = 0; i < map.count(); ++i) {
    out[static_cast<size_t>(i / map.channels * pitch + i % map.channels)] =
        dense[static_cast<size_t>(i)];
  }
  return out;
}

struct Part {
  Map map;
  int64_t pitch;
};
const Part kParts[] = {{{16, 8, 8, 64}, 96},     {{32, 4, 4, 512}, 1024}, {{7, 5, 3, 40}, 56},
                       {{9, 6, 6, 24}, 27},      {{3, 32, 32, 96}, 256},  {{5, 7, 7, 10}, 16},
                       {{2, 16, 16, 2056}, 2064}};

TEST_F(NormApply, PartOfAWiderMapEqualsItsCopy) {
  for (const Part& part : kParts) {
    for (const Type type : kTypes) {
      SCOPED_TRACE(describe(part.map, type));
      Layer layer(part.map, type);
      const std::vector<float> x = unpacked(layer.stats.x.host, type);
      const Device<uint8_t> wide(packed(widened(x, part.map, part.pitch, 1e9F), type));
      Bytes none(size_t{16}), y(layer.stats.x.host.size());
      cuda::reference::norm_apply(apply_args(layer, {true, false, false}, none, y, false));
      cuda::ApplyArgs a = apply_args(layer, {true, false, false}, none, y, true);
      a.x = wide.get(), a.pitch = part.pitch;
      cuda::norm_apply(a, nullptr);
      EXPECT_TRUE(y.device.host() == y.host);

      const Workspace workspace(cuda::stats_workspace(part.map, 8));
      StatsCase fresh(part.map, type);
      for (const bool summary : {false, true}) {
        cuda::StatsArgs stats = fresh.args(true, true, summary);
        stats.x = wide.get(), stats.pitch = part.pitch, stats.workspace = workspace.get();
        cuda::norm_stats(stats, nullptr);
        cuda::reference::norm_stats(fresh.args(false, true, summary));
        expect_close(fresh.mean.device.host(), fresh.mean.host, 1e-5, "mean");
        expect_close(fresh.inv_std.device.host(), fresh.inv_std.host, 1e-5, "inv_std");
        expect_close(fresh.running_var.device.host(), fresh.running_var.host, 1e-5, "variance");
      }
      expect_close(fresh.summary.device.host(), fresh.summary.host, 1e-5, "summary");
    }
  }
}

TEST_F(NormBackward, PartOfAWiderMapEqualsItsCopyAndAddsAnotherGradient) {
  for (const Part& part : kParts) {
    for (const Type type : kTypes) {
      for (const bool plus : {false, true}) {
        SCOPED_TRACE(describe(part.map, type) + (plus ? " plus" : ""));
        BackwardCase c(part.map, type, {true, false, false});
        const std::vector<float> x = unpacked(c.layer.stats.x.host, type);
        const std::vector<float> other = normal(elements(part.map), 10, 0.0F);
        const int64_t other_pitch = part.pitch + 8;
        Bytes wide(packed(widened(x, part.map, part.pitch, 1e9F), type));
        Bytes more(packed(widened(other, part.map, other_pitch, 1e9F), type));
        const Workspace workspace(cuda::backward_workspace(part.map));
        for (const bool kernel : {false, true}) {
          cuda::NormBackwardArgs a = c.args(kernel, kernel ? workspace.get() : nullptr);
          a.x = wide.at(kernel), a.pitch = part.pitch;
          if (plus) a.plus = more.at(kernel), a.plus_pitch = other_pitch;
          kernel ? cuda::norm_backward(a, nullptr) : cuda::reference::norm_backward(a);
        }
        expect_equal_to_reference(c);
      }
    }
  }
}

TEST_F(NormBackward, RefusesWhatItCannotAddOrPool) {
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, false, true});
  cuda::NormBackwardArgs args = c.args(true, nullptr);
  args.plus = args.dy;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
  args.plus = nullptr, args.pitch = 16;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
  args.pool = false, args.pitch = 4;  // positions would overlap
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
}

TEST_F(NormBackward, RefusesResidualWithoutOutput) {
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, true, false});
  cuda::NormBackwardArgs args = c.args(true, nullptr);
  args.y = nullptr;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
}

}  // namespace
}  // namespace adagp::test
