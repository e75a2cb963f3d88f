#pragma once
// Sums of a layer's output by cell of its map: a summary that is half made.

#include <map>

#include <torch/types.h>

#include "adagp/cuda/types.h"

namespace adagp::nn {

struct SummaryCells {
  at::Tensor sums;  // float, set by the kernel's caller
  cuda::Map map;    // of the output
  // By number of elements. Never freed: a recorded step may still write there.
  std::map<int64_t, at::Tensor> made = {};
};

}  // namespace adagp::nn
