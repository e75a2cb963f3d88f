#pragma once
// The depthwise convolutions of a network by LibTorch (on a GPU cuDNN) and by our own kernels, side
// by side.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/results/report/roofline.h"

namespace adagp::experiment {

// One product of one shape.
struct DepthwiseTime {
  int64_t channels = 0, height = 0, width = 0, stride = 1;  // of the input
  int64_t times = 1;                                        // layers of this shape in the network
  std::string pass{};           // forward, input gradient, weight gradient
  double bytes = 0;             // both maps once
  double library = 0, own = 0;  // seconds, medians
};

struct DepthwiseBench {
  std::string model, input, precision, device;
  int64_t batch = 1;
  double bytes_per_second = 0;
  bool references = false;  // on a CPU: `own` are the kernels' references
  std::vector<DepthwiseTime> rows;

  std::string text() const;
  nlohmann::json to_json() const;
};

// The network of `config` on `input`, as bench() takes it. On a GPU each product is recorded
// several times in a CUDA graph, so that no time is the host's; the two sides take turns. Throws
// UsageError when no layer of the network fits the kernels.
DepthwiseBench depthwise_bench(config::RunConfig config, const std::string& input, int repeats,
                               const report::MachineLimits& given = {});

}  // namespace adagp::experiment
