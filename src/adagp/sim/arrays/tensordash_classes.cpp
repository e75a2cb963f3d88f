#include "adagp/sim/arrays/tensordash_streams.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/tensordash_schedule.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;
using accel::mul;

// Convolutions of two axes and linear layers; the others are plain matrix products.
std::vector<StreamClass> layer_classes(const layers::Row& row, accel::Pass pass, int64_t batch,
                                       bool left) {
  const auto axes = layers::axes_of(row);
  const int64_t channels = row.input[0] / row.groups, filters = row.output[0] / row.groups;
  const int64_t kernel = axes[1].kernel * axes[2].kernel;
  const int64_t outputs = mul(batch, row.output[1], row.output[2]);
  const auto classed = [&](int64_t lines, int64_t left_vectors, int64_t right_vectors,
                           int64_t repeats) {
    return StreamClass{lines, left ? left_vectors : right_vectors,
                       left ? right_vectors : left_vectors, repeats};
  };
  if (pass == accel::Pass::kForward) {
    return {classed(mul(kernel, ceil_div(channels, kLanes)), outputs, filters, row.groups)};
  }
  if (pass == accel::Pass::kInputGradient) {
    std::vector<StreamClass> out;
    for (const Phase& phase : phases_of(row)) {
      out.push_back(classed(mul(phase.positions(), ceil_div(filters, kLanes)),
                            mul(batch, phase.points()), channels, row.groups));
    }
    return out;
  }
  if (row.op == "linear") {
    return {classed(ceil_div(outputs, kLanes), channels, filters, row.groups)};
  }
  const int64_t lines = ceil_div(mul(row.output[1], row.output[2]), kLanes);
  if (left) return {{lines, channels, filters, mul(batch, kernel, row.groups)}};
  return {{lines, filters, mul(kernel, channels), mul(batch, row.groups)}};
}

// Kernel positions of one axis that meet a value at an input point of this phase.
std::vector<int64_t> met_positions(const layers::Axis& axis, int64_t phase) {
  std::vector<int64_t> out;
  for (int64_t r = 0; r < axis.kernel; ++r) {
    const int64_t at = phase + axis.padding - r * axis.dilation;
    if (((at % axis.stride) + axis.stride) % axis.stride == 0) out.push_back(r);
  }
  return out;
}

}  // namespace

std::vector<StreamClass> stream_classes(const layers::Row& row, const accel::Work& work,
                                        int64_t batch, bool left_sparse) {
  if (row.op == "conv2d" || row.op == "linear") {
    return layer_classes(row, work.pass, batch, left_sparse);
  }
  const accel::Gemm& g = work.gemm;
  return {{ceil_div(g.k, kLanes), left_sparse ? g.m : g.n, left_sparse ? g.n : g.m, work.groups}};
}

std::vector<Phase> phases_of(const layers::Row& row) {
  const auto axes = layers::axes_of(row);
  const layers::Axis &h = axes[1], &w = axes[2];
  std::vector<Phase> out;
  for (int64_t y = 0; y < std::min(h.stride, h.input); ++y) {
    for (int64_t x = 0; x < std::min(w.stride, w.input); ++x) {
      Phase phase{y,
                  x,
                  met_positions(h, y),
                  met_positions(w, x),
                  accel::ceil_div(h.input - y, h.stride),
                  accel::ceil_div(w.input - x, w.stride)};
      if (phase.positions() > 0) out.push_back(std::move(phase));
    }
  }
  return out;
}

}  // namespace adagp::arrays
