#pragma once
// Traces of training: for each weight layer which values of X, dY and W are zero, on one BP batch
// of an epoch. Training writes RUN/trace/e007.safetensors (docs/run-folder.md has the format).

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "adagp/base/core/files.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

struct LayerTrace {
  std::string name;
  accel::ZeroBits x, dy, w;                    // of the sampled examples; empty: not recorded
  std::array<double, 3> density{1, 1, 1};      // X, dY, W of the whole batch: share of non-zeros
  std::optional<std::array<int, 3>> mantissa;  // bits of W, A, G where FAST ran; 0 = fp32
  std::optional<std::array<double, 3>> r;      // what FAST's rule saw, W, A, G
};

struct Trace {
  std::string file;
  std::string network, input;
  int64_t epoch = 0, batch = 1, examples = 1;
  std::vector<LayerTrace> layers;  // by name, numbers inside by their values

  const LayerTrace* find(const std::string& layer) const;  // nullptr: not there
  // Of a row of the layer table. "name#2" is the second use of "name": where the trace has no bits
  // of its own for it, those of "name".
  const LayerTrace* find(const layers::Row& row) const;
};

// The trace files of a run folder by epoch, or the one file that `run` is. Throws DataError when
// there are none, naming the keys that make training write them.
std::vector<core::fs::path> trace_files(const core::fs::path& run);

// Throws DataError naming file, tensor and what is wrong: a missing tensor or metadata, a shape
// that does not fit, bits beyond the channels, a density outside 0..1, a width beyond 24.
Trace read_trace(const core::fs::path& path);
Trace parse_trace(std::string bytes, const std::string& name);

// One of the examples alone; densities stay those of the batch.
Trace one_example(const Trace& trace, int64_t example);

}  // namespace adagp::arrays
