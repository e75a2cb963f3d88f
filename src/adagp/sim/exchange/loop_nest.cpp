#include "adagp/sim/exchange/loop_nest.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::exchange {
namespace {

using accel::Pass;

constexpr std::array<Loop, 3> kPositions = {Loop::kDepth, Loop::kHeight, Loop::kWidth};
constexpr std::array<Loop, 3> kTaps = {Loop::kTapDepth, Loop::kTapHeight, Loop::kTapWidth};

// The loops of a layer and its tensors, before a pass says which of them is written.
struct LayerLoops {
  std::array<int64_t, kLoops> sizes{};
  Tensor input{"Inputs", {}}, weights{"Weights", {}}, output{"Outputs", {}};
  std::vector<Loop> m, k, n;  // of the forward product

  int64_t& size(Loop loop) { return sizes[static_cast<size_t>(loop)]; }
};

Tensor map_of(const char* name, Loop channels, const std::vector<Index>& places) {
  Tensor out{name, {{Loop::kBatch}, {Loop::kGroup}, {channels}}};
  out.indices.insert(out.indices.end(), places.begin(), places.end());
  return out;
}

// Every example and head is a group: both operands are activations.
void add_matmul(const accel::Work& forward, LayerLoops& out) {
  out.size(Loop::kGroup) = forward.groups;
  out.size(Loop::kChannel) = forward.gemm.k;
  out.size(Loop::kFilter) = forward.gemm.n;
  out.size(Loop::kWidth) = forward.gemm.m;
}

void add_layer(const layers::Row& row, int64_t batch, bool transposed, LayerLoops& out) {
  out.size(Loop::kBatch) = batch;
  out.size(Loop::kGroup) = row.groups;
  out.size(Loop::kChannel) = row.input[0] / row.groups;
  out.size(Loop::kFilter) = row.output[0] / row.groups;
  const auto axes = layers::axes_of(row);
  for (size_t i = 0; i < axes.size(); ++i) {
    out.size(kPositions[i]) = transposed ? axes[i].input : axes[i].output;
    out.size(kTaps[i]) = axes[i].kernel;
  }
}

void add_tensors(const layers::Row& row, bool transposed, LayerLoops& out) {
  std::vector<Index> small, large;
  const auto axes = layers::axes_of(row);
  for (size_t i = 0; i < axes.size(); ++i) {
    const layers::Axis& axis = axes[i];
    small.push_back({kPositions[i]});
    large.push_back({kPositions[i], kTaps[i], axis.stride, axis.dilation,
                     transposed ? axis.output : axis.input, axis.padding});
  }
  out.input = map_of("Inputs", Loop::kChannel, transposed ? small : large);
  out.output = map_of("Outputs", Loop::kFilter, transposed ? large : small);
  out.weights.indices = {{Loop::kGroup}, {Loop::kFilter}, {Loop::kChannel}};
  for (const Loop tap : kTaps) out.weights.indices.push_back({tap});
}

// As in accel/work.h. The taps of a transposed convolution belong to its output.
void add_products(bool transposed, LayerLoops& out) {
  out.m = {Loop::kWidth, Loop::kHeight, Loop::kDepth, Loop::kBatch};
  out.k = {Loop::kChannel};
  out.n = {Loop::kFilter};
  std::vector<Loop>& with_taps = transposed ? out.n : out.k;
  with_taps.insert(with_taps.end(), kTaps.rbegin(), kTaps.rend());
}

LayerLoops loops_of(const layers::Row& row, const accel::Work& forward, int64_t batch) {
  const bool transposed = row.op == "conv_transpose";
  LayerLoops out;
  out.sizes.fill(1);
  if (row.op == "matmul") {
    add_matmul(forward, out);
  } else {
    add_layer(row, batch, transposed, out);
  }
  add_tensors(row, transposed, out);
  add_products(transposed, out);
  return out;
}

// Left and right operand, and M, K, N as accel/work.h orders them in each pass.
LoopNest nest_of(const layers::Row& row, const LayerLoops& layer, const accel::Work& work) {
  const auto& [sizes, x, w, y, m, k, n] = layer;
  LoopNest out{row.name, row.op, work.pass, sizes, x, w, y, m, k, n, work};
  if (work.pass == Pass::kInputGradient) {
    out.left = y, out.right = w, out.result = x;
    out.k = n, out.n = k;
  } else if (work.pass == Pass::kWeightGradient) {
    out.left = x, out.right = y, out.result = w;
    out.m = k, out.k = m;
  }
  return out;
}

}  // namespace

std::vector<Index> LoopNest::windows() const {
  std::vector<Index> out;
  for (const Tensor* tensor : {&left, &right, &result}) {
    for (const Index& index : tensor->indices) {
      if (index.tap) out.push_back(index);
    }
  }
  return out;
}

const char* pass_name(Pass pass) {
  return pass == Pass::kForward         ? "forward"
         : pass == Pass::kInputGradient ? "input_gradient"
                                        : "weight_gradient";
}

std::string product_name(const LoopNest& nest) {
  return nest.name + "." + pass_name(nest.pass);
}

std::vector<LoopNest> loop_nests(const layers::Table& table, int64_t batch, accel::SizeRule rule) {
  accel::PlanOptions options;
  options.batch = batch;
  options.size_rule = rule;
  const accel::Plan plan = accel::make_plan(table, options);
  std::vector<LoopNest> nests;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const accel::LayerPlan& layer = plan.layers[i];
    if (!layer.product) continue;
    const layers::Row& row = table.rows[i];
    const LayerLoops loops = loops_of(row, layer.forward, batch);
    nests.push_back(nest_of(row, loops, layer.forward));
    if (layer.input_gradient) nests.push_back(nest_of(row, loops, *layer.input_gradient));
    if (layer.weight_gradient) nests.push_back(nest_of(row, loops, *layer.weight_gradient));
  }
  if (nests.empty()) throw DataError("'" + table.model + "' has no product to write");
  return nests;
}

}  // namespace adagp::exchange
