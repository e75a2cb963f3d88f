#pragma once
// How the engine sees inside a network: every weight-carrying layer reports its input and output to
// the active sink. Without a sink a layer costs nothing extra.

#include <torch/types.h>

namespace adagp::nn {

class WeightLayer;

// Receives a layer's tensors while they are alive. A sink that needs more than the moment must make
// its own (small) copy: no activation outlives its layer on the sink's account.
class TapSink {
 public:
  virtual ~TapSink() = default;
  virtual void on_output(const WeightLayer& layer, const at::Tensor& input,
                         const at::Tensor& output) = 0;
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
