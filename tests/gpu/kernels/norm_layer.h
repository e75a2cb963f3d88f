#pragma once
// Inputs of norm_apply and norm_backward, on the host for the reference and on the device for the
// kernel.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {

// What follows norm_stats: statistics of x from the reference, on both sides.
struct Layer {
  Layer(const cuda::Map& shape, cuda::Type of) : map(shape), stats(shape, of) {
    cuda::reference::norm_stats(stats.args(false, true, false));
    mean = std::make_unique<Floats>(stats.mean.host);
    inv_std = std::make_unique<Floats>(stats.inv_std.host);
    scale = std::make_unique<Floats>(stats.scale.host);
    shift = std::make_unique<Floats>(stats.shift.host);
  }
  cuda::Map map;
  StatsCase stats;
  std::unique_ptr<Floats> mean, inv_std, scale, shift;
};

struct Mode {
  bool relu, residual, pool;
  float cap = cuda::kNoCap;
};
inline cuda::ApplyArgs apply_args(Layer& layer, const Mode& mode, Bytes& residual, Bytes& y,
                                  bool kernel) {
  cuda::ApplyArgs a;
  a.x = layer.stats.x.at(kernel), a.type = layer.stats.type, a.map = layer.map;
  a.scale = layer.scale->at(kernel), a.shift = layer.shift->at(kernel);
  if (mode.residual) a.residual = residual.at(kernel);
  a.relu = mode.relu, a.cap = mode.cap, a.pool = mode.pool, a.y = y.at(kernel);
  return a;
}

// Everything norm_backward reads and writes.
struct BackwardCase {
  BackwardCase(const cuda::Map& map, cuda::Type type, const Mode& of)
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
inline void expect_same_dx(const BackwardCase& c) {
  const cuda::Type type = c.layer.stats.type;
  const std::vector<float> got = unpacked(c.dx.device.host(), type);
  const std::vector<float> expected = unpacked(c.dx.host, type);
  if (type == cuda::Type::kFloat) return expect_close(got, expected, 1e-5, "dx");
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - expected[i]),
              std::ldexp(std::fabs(expected[i]), -7) + 1e-5F * largest)
        << "dx[" << i << "]: got " << got[i] << ", expected " << expected[i];
  }
}

inline void expect_equal_to_reference(const BackwardCase& c) {
  expect_close(c.dbias.device.host(), c.dbias.host, 1e-5, "dbias");
  expect_close(c.dweight.device.host(), c.dweight.host, 1e-5, "dweight");
  expect_same_dx(c);
  if (c.mode.residual) {
    EXPECT_TRUE(c.dz.device.host() == c.dz.host) << "dz";
  }
}

}  // namespace adagp::test
