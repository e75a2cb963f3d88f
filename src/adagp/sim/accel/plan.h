#pragma once
// A network made ready for simulation: every product and vector pass of a training step, for one
// batch size. A plan does not depend on the accelerator, so a sweep builds it once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/base/config/predictor_options.h"
#include "adagp/sim/accel/work.h"
#include "adagp/sim/layers/table.h"

namespace adagp::accel {

// What an update moves between DRAM and buffer for each weight, in words, beside its gradient.
struct UpdateWords {
  int64_t reads = 1, writes = 1;  // the weight: SGD without momentum
  bool operator==(const UpdateWords&) const = default;
};
// "sgd", "momentum" (a second number of each weight) or "adam" (two more). `master`: the numbers
// are two words wide, and the array's copy of the weight is written beside them. Throws UsageError
// with the nearest name.
UpdateWords update_words(const std::string& optimizer, bool master = false);

struct PlanOptions {
  int64_t batch = 1;
  predictor::Config predictor;  // kind, channels, pooled, summary, order, steps
  SizeRule size_rule = SizeRule::kFloor;
  bool vector_passes = true;  // false: products alone (batch norm, updates, loss ... cost nothing)
  UpdateWords update = {};
};

// Passes over the elements of a vector operation's larger side, forward and backward. One pass
// reads and writes each element once, lanes() elements per cycle.
struct VectorRule {
  const char* op;
  int forward;
  int backward;
};
// batch_norm and layer_norm 2/2 (statistics, then apply; backward two sums, then apply), softmax
// 3/2 (maximum, sum, divide; sum, apply), activation 1/1, add 1/0 (both sides get the same
// gradient), pool 1/1, concat 0/0 (addresses), embedding 1/1. Beyond the table's rows: the loss,
// 0/4 over the last row's output (a softmax and its gradient; a GP batch needs none), and weight
// updates, one pass.
const std::vector<VectorRule>& vector_rules();

// The predictor's work on one layer (mean over the batch, every output channel a sample). Sizes by
// predictor::Config: summary 8x8 -> conv 3x3 1->16 -> pool to 4x4 -> FC 256 -> in/groups*k*k (with
// order = pool-conv the pool comes first); remap: 4x4 -> 4 x (conv 3x3 to 64, norm) -> mean of the
// samples -> FC 1024 -> 10,000 (weights, if less).
struct PredictorPlan {
  std::vector<Work> forward;   // conv, FC
  std::vector<Work> backward;  // conv weight gradient, FC input and weight gradient
  std::vector<Work> forward_full,
      backward_full;            // the same with the FC as wide as the widest layer
  int64_t reorganised = 0;      // elements of the batch mean (batch * output words), and of maxima
  int64_t vector_forward = 0;   // ReLU and pooling
  int64_t vector_backward = 0;  // the same, the target gradient / RMS, and in the first layer one
                                // Adam step of the whole predictor per BP batch (with steps =
                                // per-layer in every layer)
  int64_t weights = 0;          // predictor weights this layer uses
  int64_t weights_full = 0;
  bool operator==(const PredictorPlan&) const = default;
};

struct LayerPlan {
  std::string name;
  std::string op;
  std::array<int64_t, 3> input{}, output{};  // C, H, W of one example
  bool product = false;                      // else a vector pass
  bool weighted = false;                     // has a weight gradient, hence a predictor
  bool frozen = false;                       // runs forward alone
  Work forward;                              // of a product
  std::optional<Work> input_gradient;        // absent in the first layer
  std::optional<Work> weight_gradient;       // of a matmul: the second input gradient
  int64_t vector_forward = 0;                // elements times passes
  int64_t vector_backward = 0;
  int64_t update_backprop = 0;  // parameters that move in a BP batch: weights, biases, norms
  int64_t update_predict = 0;   // in a GP batch: weights of predicted layers; remap: biases, too
  PredictorPlan predictor;      // of a weighted product
  // Activations that a BP batch keeps for the backward pass; of a frozen row: what it writes.
  int64_t kept_words = 0;
  int64_t live_words = 0;  // input and output while the row runs

  // The first layer of the plan that costs the same, where one comes before: many layers of a
  // network repeat, and are evaluated once.
  size_t same_as = static_cast<size_t>(-1);
};

struct Plan {
  std::string model;
  std::string input;
  int64_t batch = 1;
  std::vector<LayerPlan> layers;
  int64_t predictor_weights = 0;  // the whole predictor: what an Adam step moves
  int64_t input_words = 0;        // of the network, for the batch
  UpdateWords update;
};

// Throws DataError naming the row (see forward_work; also duplicate names, an unknown op, an empty
// table), UsageError for a batch below 1 or predictor sizes out of range. Predictor kinds:
// "shared", "remap".
Plan make_plan(const layers::Table& table, const PlanOptions& options);

// Peak activation words of a batch. BP keeps the network's input and every output its backward pass
// needs; activation and add rows work in place and keep nothing more; of frozen rows the pooled
// maps are kept, which feed the trained part. GP and inference hold one row's input and output at a
// time. The table has no edges, so inputs that a skip connection keeps alive are not counted.
int64_t peak_words_backprop(const Plan& plan);
int64_t peak_words_forward(const Plan& plan);

}  // namespace adagp::accel
