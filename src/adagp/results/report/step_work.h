#pragma once
// FLOPs and bytes of the work of a training step, counted from the layer table. Torch-free.
//
// Every piece of work reads each of its operands from memory once and writes its result once; a
// batch norm reads its input twice, because the statistics come first. Caches that keep a tensor
// from one piece to the next make a step faster than this count.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/optim_options.h"
#include "adagp/base/config/predictor_options.h"
#include "adagp/sim/layers/table.h"

namespace adagp::report {

enum class Kind {
  kConvolution,
  kLinear,  // and products of two activations
  kNorm,
  kElementwise,  // activation, addition, pool, concatenation, softmax, embedding
  kOptimizer,
  kPredictor,
  kSummaries,
  kOther,  // only of measured times: what no other kind has
};
inline constexpr int kKinds = 8;
const char* name_of(Kind kind);

enum class Step { kForward, kGp, kBp, kBpTrain };
inline constexpr int kSteps = 4;
const char* name_of(Step step);  // forward, gp, bp, bp-train: as `bench --only` has them

struct Work {
  std::string name;  // of the row; "optimizer", "predictor", "summaries"
  std::string pass;  // forward, input gradient, weight gradient, backward, update, ...
  Kind kind = Kind::kOther;
  double flops = 0;
  double bytes = 0;
};

struct WorkOptions {
  int64_t batch = 1;
  int64_t element_bytes = 4;  // of activations, their gradients and the weights of products
  // As our GPU kernels do it: activation, addition, pool and concat happen in the pass of the norm
  // before them, and the summary in the pass of its statistics.
  bool fused = false;
  optim::Config optim;
  predictor::Config predictor;
};

// `table` with its vector operations. The predictor is counted for kind `shared` alone.
std::vector<Work> step_work(const layers::Table& table, const WorkOptions& options, Step step);

// What step_work() leaves out, one sentence each.
std::vector<std::string> not_counted(const layers::Table& table, const WorkOptions& options);

}  // namespace adagp::report
