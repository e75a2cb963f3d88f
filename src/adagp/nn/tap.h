#pragma once
// How the engine sees inside a network: every weight-carrying layer reports its input and output to
// the active sink. Without a sink a layer costs nothing extra.

#include <map>
#include <optional>

#include <torch/types.h>

#include "adagp/cuda/types.h"

namespace adagp::nn {

class WeightLayer;

// Receives a layer's tensors while they are alive. A sink that needs more than the moment must make
// its own (small) copy: no activation outlives its layer on the sink's account.
class TapSink {
 public:
  virtual ~TapSink() = default;
  virtual void on_output(const WeightLayer& layer, const at::Tensor& input,
                         const at::Tensor& output) = 0;

  // Where a kernel that reads the output anyway may put the layer's summary itself; on_output is
  // then not called for this use. None: the sink wants to see the tensors.
  struct SummaryTarget {
    at::Tensor rows;  // float [out, size*size]
    int size = 0;
    int use = 1;  // which use of the layer in this step: rows become the mean of the uses
    // Not null: sums by cell go there instead, and the sink makes the rows of all layers together.
    struct Cells {
      at::Tensor sums;  // float, set by the kernel's caller
      cuda::Map map;    // of the output
      // By number of elements; none is given up, for a recorded step may still write there.
      std::map<int64_t, at::Tensor> made = {};
    }* cells = nullptr;
  };
  virtual std::optional<SummaryTarget> summary_target(const WeightLayer& layer) {
    (void)layer;
    return {};
  }
};

// The sink of this thread, or null.
TapSink* active_sink();

// Makes `sink` the active one for a scope; scopes nest.
class TapScope {
 public:
  explicit TapScope(TapSink& sink);
  ~TapScope();
  TapScope(const TapScope&) = delete;
  TapScope& operator=(const TapScope&) = delete;

 private:
  TapSink* previous_;
};

}  // namespace adagp::nn
