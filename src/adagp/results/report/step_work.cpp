#include "adagp/results/report/step_work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "adagp/base/core/error.h"

namespace adagp::report {
namespace {

constexpr double kFloat = 4;       // bytes of parameters, optimizer states and summaries
constexpr double kTableBytes = 4;  // of an element in the layer table

// Additions and multiplications for each element of the output. They never decide the time of a
// piece on a machine whose memory is slower than its arithmetic; the count is the usual formula's.
struct VectorOp {
  const char* op;
  Kind kind;
  double forward_flops, backward_flops;
};
constexpr std::array<VectorOp, 8> kVectorOps{{
    {"batch_norm", Kind::kNorm, 5, 9},      // sum, sum of squares (3); scale, shift (2)
    {"layer_norm", Kind::kNorm, 7, 9},      // as above with its own weights
    {"softmax", Kind::kElementwise, 4, 3},  // maximum, exponential, sum, division
    {"activation", Kind::kElementwise, 1, 1},
    {"add", Kind::kElementwise, 1, 1},
    {"pool", Kind::kElementwise, 1, 1},
    {"concat", Kind::kElementwise, 0, 0},
    {"embedding", Kind::kElementwise, 0, 1},
}};

const VectorOp* vector_op(const std::string& name) {
  for (const VectorOp& op : kVectorOps) {
    if (name == op.op) return &op;
  }
  return nullptr;
}

// Sizes of a row for the whole batch.
struct Sizes {
  double in = 0, out = 0;  // bytes of all inputs, of the output
  double weights = 0;      // bytes that a product reads
  double elements = 0;     // of the output
  double flops = 0;        // of a product, forward
};

Sizes sizes_of(const layers::Row& row, const WorkOptions& o) {
  const auto batch = static_cast<double>(o.batch), e = static_cast<double>(o.element_bytes);
  Sizes s;
  s.in = static_cast<double>(row.input_bytes) / kTableBytes * batch * e;
  s.elements = static_cast<double>(row.output_bytes) / kTableBytes * batch;
  s.out = s.elements * e;
  s.weights = static_cast<double>(row.weights) * e;
  s.flops = 2 * static_cast<double>(row.macs) * batch;
  return s;
}

// A layer that is summarised, and whose gradient is predicted.
bool predicted(const layers::Row& row) {
  return layers::is_product(row) && row.weights > 0 && row.frozen == 0;
}

Kind product_kind(const layers::Row& row) {
  return layers::is_convolution(row) ? Kind::kConvolution : Kind::kLinear;
}

// Bytes of a vector operation with a pass of its own.
std::pair<double, double> own_pass(const layers::Row& row, const Sizes& s) {
  if (row.op == "batch_norm") return {2 * s.in + s.out, 2 * (s.in + s.out) + s.in};
  if (row.op == "layer_norm") return {s.in + s.out, s.in + s.out + s.in};
  if (row.op == "softmax" || row.op == "activation") return {s.in + s.out, 2 * s.out + s.in};
  // The gradients of both branches are added where the branches parted.
  if (row.op == "add") return {s.in + s.out, s.in + s.out};
  // Rows are gathered; their gradients are added to a zeroed matrix.
  if (row.op == "embedding") {
    return {2 * s.out, 3 * s.out + static_cast<double>(row.weights) * kFloat};
  }
  return {s.in + s.out, s.in + s.out};  // pool, concat
}

// What it adds to the pass of the norm before it. What the norm wrote at full size is written by
// the pool at its size, and read at that size by both rounds of the backward pass, which compute
// the mask again.
std::pair<double, double> in_norm_pass(const layers::Row& row, const Sizes& s) {
  if (row.op == "activation") return {0, 0};
  // The other branch is read and its gradient written; gradients are added where branches parted.
  if (row.op == "add") return {s.in / 2, s.out + s.in + s.out};
  return {s.out - s.in, 2 * (s.out - s.in)};  // pool
}

class Counter {
 public:
  Counter(const layers::Table& table, const WorkOptions& options)
      : table_(table), o_(options), e_(static_cast<double>(options.element_bytes)) {}

  void network(bool backward) {
    bool learnt_before = false;  // something before this row needs the gradient of its output
    norm_ = 0;
    for (const layers::Row& row : table_.rows) {
      const Sizes s = sizes_of(row, o_);
      learnt_before =
          learnt_before || (!layers::is_product(row) && row.weights > 0 && row.frozen == 0);
      const bool frozen = row.frozen != 0;
      if (layers::is_product(row)) {
        product(row, s, backward && !frozen, learnt_before);
        norm_ = 0;
        grown_ = false;
      } else if (const VectorOp* op = vector_op(row.op)) {
        vector(row, s, *op, backward && learnt_before && !frozen);
      }
      convolved_ = layers::is_convolution(row) ? s.out : 0;
      learnt_before = learnt_before || (row.weights > 0 && !frozen);
    }
  }

  // Every parameter, or the weights of products alone.
  void optimizer(bool all) {
    double count = 0;
    for (const layers::Row& row : table_.rows) {
      if (layers::is_repeated(row) || row.frozen != 0) continue;
      const bool product = layers::is_product(row);
      if (all || product) count += static_cast<double>(row.weights);
      if (all) count += static_cast<double>(row.bias);
    }
    const bool adam = o_.optim.name != "sgd";
    const double states = adam ? 2 : o_.optim.momentum != 0 ? 1 : 0;
    // Weight and states in and out; the bf16 copy out; a true gradient in. A predicted one need not
    // be in memory.
    const double bytes = (1 + states) * 2 * kFloat + (e_ < kFloat ? e_ : 0) + (all ? e_ : 0);
    add({"optimizer", "update", Kind::kOptimizer, count * (adam ? 12 : 6), count * bytes});
  }

  void summaries() {
    const bool remap = o_.predictor.kind == "remap";
    const int64_t side = predictor::summary_side(o_.predictor);
    const auto cells = static_cast<double>(side * side);
    double read = 0, flops = 0, rows = 0;
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      const layers::Row& row = table_.rows[i];
      if (!predicted(row)) continue;
      const Sizes s = sizes_of(row, o_);
      const std::string behind = i + 1 < table_.rows.size() ? table_.rows[i + 1].op : "";
      // A concat behind a convolution is the growth of a dense block, which takes statistics, too.
      // Maxima are no sums: remap's never ride.
      const bool rides =
          o_.fused && !remap &&
          (behind == "batch_norm" || (behind == "concat" && layers::is_convolution(row)));
      read += rides ? 0 : s.out;
      flops += s.elements;
      rows += remap && row.op == "linear" ? 1 : static_cast<double>(row.output[0]);
    }
    add({"summaries", "forward", Kind::kSummaries, flops, read + rows * cells * kFloat});
  }

  void predictor(bool learns) {
    if (o_.predictor.kind != "shared") return;
    const predictor::Config& p = o_.predictor;
    const auto features = static_cast<double>(predictor::feature_count(p));
    const auto cells = static_cast<double>(p.summary * p.summary);
    const int64_t side = predictor::convolved_side(p);
    double filters = 0, weights = 0, widest = 0, taught = 0;
    for (const layers::Row& row : table_.rows) {
      if (!predicted(row) || layers::is_repeated(row)) continue;
      const auto own_filters = static_cast<double>(row.output[0]);
      const auto own_weights = static_cast<double>(row.weights);
      ++taught;
      filters += own_filters;
      weights += own_weights;
      widest = std::max(widest, own_weights / own_filters);
    }
    const auto channels = static_cast<double>(p.channels);
    const double convolution = 2 * 9 * channels * static_cast<double>(side * side) * filters;
    const double product = 2 * features * weights;
    const double own = (features + 1) * widest + 10 * channels;  // parameters
    const double rows = filters * cells * kFloat, made = filters * features * kFloat;
    // Summaries in, features out and in, the predictor's own parameters in.
    const double forward = rows + 2 * made + own * kFloat;
    add({"predictor", "forward", Kind::kPredictor, convolution + product, forward});
    if (!learns) return;
    // The true gradients are read for their RMS and for the errors; the errors are written and read
    // for both products; features and their gradients.
    add({"predictor", "backward", Kind::kPredictor, convolution + 2 * product,
         2 * weights * e_ + 2 * weights * kFloat + 2 * made + rows + 2 * own * kFloat});
    const double steps = p.steps == "per-layer" ? taught : 1;  // of Adam
    add({"predictor", "update", Kind::kPredictor, 12 * own * steps, 7 * own * kFloat * steps});
  }

  std::vector<Work> take() { return std::move(work_); }

 private:
  void product(const layers::Row& row, const Sizes& s, bool backward, bool learnt_before) {
    const Kind kind = product_kind(row);
    add({row.name, "forward", kind, s.flops, s.in + s.weights + s.out});
    if (!backward) return;
    if (row.op == "matmul") {  // of two activations: a gradient for each
      add({row.name, "input gradient", kind, 2 * s.flops, 2 * (s.in + s.out)});
      return;
    }
    if (learnt_before) {
      add({row.name, "input gradient", kind, s.flops, s.out + s.weights + s.in});
    }
    add({row.name, "weight gradient", kind, s.flops, s.out + s.in + s.weights});
  }

  void vector(const layers::Row& row, const Sizes& s, const VectorOp& op, bool backward) {
    const double forward_flops = op.forward_flops * s.elements;
    const double backward_flops = op.backward_flops * s.elements;
    const bool fits = row.op == "activation" || row.op == "add" || row.op == "pool";
    if (o_.fused && norm_ > 0 && fits) {
      const auto [forward, back] = in_norm_pass(row, s);
      Work& norm = work_[norm_ - 1];
      norm.flops += forward_flops;
      norm.bytes += forward;
      if (backward) {
        work_[norm_].flops += backward_flops;
        work_[norm_].bytes += back;
      }
      return;
    }
    if (o_.fused && row.op == "concat" && convolved_ > 0) return grown(row, s, op, backward);
    // Branches that end in a norm write into one map. (Counted as if all did where the last one
    // does.)
    if (o_.fused && row.op == "concat" && std::exchange(norm_, 0) > 0) return;
    const bool known = std::exchange(grown_, false) && row.op == "batch_norm";
    auto [forward, back] = own_pass(row, s);
    if (known) forward -= s.in;  // of the statistics
    add({row.name, "forward", op.kind, known ? 2 * s.elements : forward_flops, forward});
    norm_ = row.op == "batch_norm" ? work_.size() : 0;
    if (backward) add({row.name, "backward", op.kind, backward_flops, back});
  }

  // A convolution right before a concat makes the new channels of a dense block. They alone are
  // copied to their place, and their statistics taken for all norms that read them; what the other
  // layers have as gradients of the old ones is read by the norm's backward pass.
  void grown(const layers::Row& row, const Sizes& s, const VectorOp& op, bool backward) {
    norm_ = 0;
    grown_ = true;
    add({row.name, "forward", Kind::kNorm, 3 * convolved_ / e_, 2 * convolved_});
    if (!backward) return;
    add({row.name, "backward", op.kind, 0, 2 * convolved_});
    add({row.name, "sum of gradients", Kind::kNorm, (s.out - convolved_) / e_, s.out - convolved_});
  }

  void add(Work work) { work_.push_back(std::move(work)); }

  const layers::Table& table_;
  const WorkOptions& o_;
  double e_;
  std::vector<Work> work_;
  double convolved_ = 0;  // bytes that the row before wrote, where it is a convolution
  bool grown_ = false;    // the row before made a dense block's map larger
  size_t norm_ = 0;       // behind the forward piece of the norm that the next rows join; 0: none
};

}  // namespace

const char* name_of(Kind kind) {
  static constexpr std::array<const char*, kKinds> kNames{"convolution", "linear",    "norm",
                                                          "elementwise", "optimizer", "predictor",
                                                          "summaries",   "other"};
  return kNames.at(static_cast<size_t>(kind));
}

const char* name_of(Step step) {
  static constexpr std::array<const char*, kSteps> kNames{"forward", "gp", "bp", "bp-train"};
  return kNames.at(static_cast<size_t>(step));
}

std::vector<Work> step_work(const layers::Table& table, const WorkOptions& options, Step step) {
  if (options.batch < 1 || options.element_bytes < 1) {
    throw Error("step_work: batch and bytes of an element must be at least 1");
  }
  Counter counter(table, options);
  const bool exact = step == Step::kBp || step == Step::kBpTrain;
  counter.network(exact);
  if (step == Step::kGp || step == Step::kBpTrain) {
    counter.summaries();
    counter.predictor(exact);
  }
  if (step != Step::kForward) counter.optimizer(exact);
  return counter.take();
}

std::vector<std::string> not_counted(const layers::Table& table, const WorkOptions& options) {
  std::vector<std::string> out{
      "the loss, dropout and the making of a batch",
      "sums of gradients where a map feeds several layers, except at additions and in dense blocks",
      "copies into another memory layout"};
  if (options.predictor.kind != "shared") {
    out.push_back("predictor '" + options.predictor.kind + "' (only 'shared' is counted)");
  }
  for (const layers::Row& row : table.rows) {
    if (!layers::is_product(row) && vector_op(row.op) == nullptr) {
      out.push_back("operation '" + row.op + "' of the layer table");
    }
  }
  std::sort(out.begin() + 3, out.end());
  out.erase(std::unique(out.begin() + 3, out.end()), out.end());
  return out;
}

}  // namespace adagp::report
