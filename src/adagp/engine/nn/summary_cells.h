#pragma once
// Sums of a layer's output by cell of its map: a summary that is half made.

#include <map>

#include <torch/types.h>

#include "adagp/engine/nn/tap.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {
struct StatsArgs;
}

namespace adagp::nn {

struct SummaryCells {
  at::Tensor sums;      // float, set by the kernel's caller
  cuda::Map map;        // of the output
  bool queued = false;  // the kernel that writes the sums of this batch
  // By number of elements. Never freed: a recorded step may still write there.
  std::map<int64_t, at::Tensor> made = {};
};

// Makes the kernel that reads `raw`, a layer's output, leave what the tap wants of it. The rest of
// the arguments, the map above all, must be there.
void ask_for_summary(const TapSink::SummaryTarget& target, const at::Tensor& raw,
                     cuda::StatsArgs& args);

}  // namespace adagp::nn
