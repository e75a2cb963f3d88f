#pragma once
// How the engine sees inside a network: every weight-carrying layer reports its input and output to
// the active sink. Without a sink a layer costs nothing extra.

#include <optional>
#include <vector>

#include <torch/types.h>

namespace adagp::nn {

struct SummaryCells;
class WeightLayer;

// Receives a layer's tensors while they are alive. A sink that needs more than the moment must make
// its own (small) copy: no activation outlives its layer on the sink's account.
class TapSink {
 public:
  virtual ~TapSink() = default;
  virtual void on_output(const WeightLayer& layer, const at::Tensor& input,
                         const at::Tensor& output) = 0;
  // The same for rows first .. first + output.size(-1) of the weight, used on their own (the
  // queries of cross-attention); every row is used equally often in a step.
  virtual void on_part(const WeightLayer& layer, int64_t first, const at::Tensor& input,
                       const at::Tensor& output) {
    (void)first;
    on_output(layer, input, output);
  }

  // Where a kernel that reads the output anyway may put the layer's summary itself; on_output is
  // then not called for this use. None: the sink wants to see the tensors.
  struct SummaryTarget {
    at::Tensor rows;  // float [out, size*size]
    int size = 0;
    int use = 1;  // which use of the layer in this step: rows become the mean of the uses
    // Not null: sums by cell go there instead, and the sink makes the rows of all layers together.
    SummaryCells* cells = nullptr;
  };
  virtual std::optional<SummaryTarget> summary_target(const WeightLayer& layer) {
    (void)layer;
    return {};
  }
  // Called once for each target given, when the kernels that fill it are queued.
  virtual void on_summary(const WeightLayer& layer) { (void)layer; }

  // An operation that is not a weight layer's product, told on meta tensors alone: for those who
  // count the work of a network from its shapes. `op` is one of batch_norm, layer_norm, softmax,
  // activation, add, pool, concat, embedding, matmul (of two activations). `inputs` are the
  // activations, then the operation's own parameters, which are those that require a gradient.
  virtual void on_op(const char* op, const std::vector<at::Tensor>& inputs,
                     const at::Tensor& output) {
    (void)op;
    (void)inputs;
    (void)output;
  }
};

// The sink of this thread, or null.
TapSink* active_sink();

// Tells the active sink. For the meta branches of operations, so that real ones pay nothing.
inline void report_op(const char* op, const std::vector<at::Tensor>& inputs,
                      const at::Tensor& output) {
  if (TapSink* sink = active_sink()) sink->on_op(op, inputs, output);
}

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
