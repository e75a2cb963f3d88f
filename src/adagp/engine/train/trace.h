#pragma once
// Traces: which values of activations, gradients and weights are zero, by layer and epoch, for
// simulators of machines that skip zeros (docs/run-folder.md).

#include "adagp/engine/io/tensors.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/step/session.h"
#include "adagp/sim/layers/table.h"

namespace adagp::train {

// 1 = not zero, eight values of the last axis a byte: value i is bit i % 8 of byte i / 8. Every row
// of the last axis begins with a new byte. [..., n] -> u8 [..., ceil(n / 8)]
at::Tensor packed_nonzeros(const at::Tensor& values);

// Sees one pass of a network, forward and backward, and keeps bits and counts: no activation lives
// longer for it.
class TraceSink : public nn::TapSink {
 public:
  explicit TraceSink(int64_t examples) : examples_(examples) {}

  // Before each of the micro-batches of a batch. Bits are kept of the first one, densities are of
  // all.
  void begin_part();
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override;
  void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override;

  // The tensors of a trace file. A layer whose output has no gradient is left out.
  io::TensorMap tensors() const;
  int64_t kept_examples() const { return kept_examples_; }

 private:
  struct Operand {
    at::Tensor bits;
    at::Tensor nonzeros;  // int64 on the device
    int64_t values = 0, channels = 0;
  };
  struct Use {
    Operand x, dy, w;
  };
  void add(const nn::WeightLayer& layer, const std::string& name, int64_t first,
           const at::Tensor& input, const at::Tensor& output);
  // `values` in NHWC.
  void count(Operand& operand, const at::Tensor& values, const at::Tensor& kept) const;

  int64_t examples_, kept_examples_ = 0;
  layers::RowNames names_;
  std::map<std::string, Use> uses_;  // by the names of the layer table
};

// Forward and backward of a BP batch with the present weights; leaves the session as it was.
io::TensorMap trace_batch(step::Session& session, const data::Batch& batch, int64_t examples,
                          int64_t& kept_examples);

class TraceWriter {
 public:
  // Throws UsageError where several processes train.
  explicit TraceWriter(const step::Session& session);
  // After epoch `epoch` (from 0): writes trace/e<epoch + 1>.safetensors if it is the epoch's turn.
  // What cannot be written or does not fit the device's memory is a warning, once. Returns whether
  // it was the epoch's turn.
  bool after(int64_t epoch, step::Session& session, const data::Batch& batch,
             const run::RunFolder& folder);

 private:
  int64_t every_ = 0;  // epochs; 0 = never
  bool warned_ = false;
};

}  // namespace adagp::train
