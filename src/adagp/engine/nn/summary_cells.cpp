#include "adagp/engine/nn/summary_cells.h"

#include <ATen/ATen.h>

#include "adagp/gpu/cuda/norm/norm.h"

namespace adagp::nn {

void ask_for_summary(const TapSink::SummaryTarget& target, const at::Tensor& raw,
                     cuda::StatsArgs& a) {
  a.size = target.size;
  a.use = target.use;
  if (target.cells == nullptr) {
    a.summary = target.rows.mutable_data_ptr<float>();
    return;
  }
  const int64_t count = cuda::summary_cells(a.map, a.size) * a.map.channels;
  at::Tensor& sums = target.cells->made[count];
  if (!sums.defined()) sums = at::empty({count}, raw.options().dtype(at::kFloat));
  target.cells->sums = sums;
  target.cells->map = a.map;
  target.cells->queued = true;
  a.cells = sums.mutable_data_ptr<float>();
}

}  // namespace adagp::nn
