#include "adagp/sim/exchange/mapping.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::exchange {
namespace {

std::vector<Factor> unrolled(const LoopNest& nest, const std::vector<Loop>& loops, int64_t side) {
  std::vector<Factor> out;
  for (const Loop loop : loops) {
    const int64_t size = std::min(nest.size(loop), side);
    if (size < 2) continue;
    out.push_back({loop, size});
    side /= size;
  }
  return out;
}

int64_t factor_of(const std::vector<Factor>& factors, Loop loop) {
  for (const Factor& factor : factors) {
    if (factor.loop == loop) return factor.size;
  }
  return 1;
}

void add_rest(const LoopNest& nest, const std::vector<Loop>& loops, Mapping& mapping) {
  for (const Loop loop : loops) {
    const int64_t side = factor_of(mapping.rows, loop) * factor_of(mapping.columns, loop);
    const int64_t rest = accel::ceil_div(nest.size(loop), side);
    if (rest > 1) mapping.time.push_back({loop, rest});
  }
}

}  // namespace

Axes axes_of(const LoopNest& nest, const accel::Accelerator& accelerator) {
  const std::string& name = accelerator.dataflow;
  if (name == "ws") return {&nest.k, &nest.n, &nest.m};
  if (name == "is") return {&nest.k, &nest.m, &nest.n};
  if (name == "os") return {&nest.m, &nest.n, &nest.k};
  throw UsageError("accelerator '" + accelerator.name + "' has dataflow '" + name +
                   "', but files for other simulators can say ws, is and os alone");
}

Mapping map_nest(const LoopNest& nest, const accel::Accelerator& accelerator) {
  const Axes axes = axes_of(nest, accelerator);
  Mapping out;
  out.rows = unrolled(nest, *axes.rows, accelerator.array.rows);
  out.columns = unrolled(nest, *axes.columns, accelerator.array.columns);
  add_rest(nest, *axes.stream, out);
  add_rest(nest, *axes.rows, out);
  add_rest(nest, *axes.columns, out);
  add_rest(nest, {Loop::kGroup}, out);
  return out;
}

}  // namespace adagp::exchange
