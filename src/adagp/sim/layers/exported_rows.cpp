// Which row an operation has, vector operations, and what has no row.
#include "adagp/sim/layers/exported_rows.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/exported_graph.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

constexpr size_t kMostRows = 100'000;

int64_t elements(const Value* v) {
  return v == nullptr ? 0 : v->elements();
}

}  // namespace

const Value* RowReader::operand(const Node& node, const std::string& name) const {
  const auto tensor = node.tensor(name);
  return tensor ? &value(*tensor) : nullptr;
}

std::array<int64_t, 3> RowReader::shape(const Value& v) const {
  if (v.dim() == 4 || v.dim() == 5) {  // several images of an example lie below each other
    const int64_t slices = v.dim() == 5 ? v.size(2) : 1;
    return {v.size(1), product_of({per_example(v.size(0)), slices, v.size(-2)}), v.size(-1)};
  }
  const int64_t features = v.dim() == 0 ? 1 : v.size(-1);
  if (features == 0) throw DataError("a tensor is empty");
  return {features, 1, per_example(v.elements() / features)};
}

std::string RowReader::layer_name(const Value& weight) {
  if (weight.parameter.empty()) return names_.operation("constant");
  return weight.slice.empty() ? names_.weight_layer(weight.parameter)
                              : names_.weight_part(weight.parameter, weight.slice);
}

void RowReader::add(Row row) {
  if (rows.size() >= kMostRows) {
    throw DataError(core::cat("has more than ", kMostRows, " rows of a layer table"));
  }
  complete(row);
  rows.push_back(std::move(row));
}

void RowReader::uncount(const Node& node, const std::string& op, std::optional<int64_t> macs) {
  const auto [at, is_new] = uncounted_at_.try_emplace({node.module, op}, uncounted.size());
  if (is_new) {
    const std::string path = node.module.empty() ? "" : node.module + "/";
    uncounted.push_back({path + node.name, op, macs, 1});
    return;
  }
  Uncounted& known = uncounted[at->second];
  ++known.times;
  if (known.macs && macs) known.macs = sum_of(*known.macs, *macs);
  if (!macs) known.macs.reset();
}

void RowReader::once_a_batch(const Node& node, int64_t macs) {
  if (result(node).activation && undivided.empty()) undivided = node.outputs.at(0);
  uncount(node, node.target + ", once a batch", macs);
}

void RowReader::read(const Node& node) {
  if (node.outputs.empty()) return;
  const std::string& op = node.op;
  const OpKind kind = node.kind();
  bool counts = op == "embedding" || is_product_kind(kind);  // positions, say, are constants
  for (const std::string& name : node.outputs) counts = counts || value(name).activation;
  if (!counts || kind == OpKind::kNoArithmetic) return;
  if (kind == OpKind::kNoProducts) return uncount(node, node.target, 0);
  const bool done = kind == OpKind::kConvolution     ? convolution(node)
                    : kind == OpKind::kLinear        ? linear(node)
                    : kind == OpKind::kProduct       ? product(node)
                    : kind == OpKind::kAttention     ? attention(node)
                    : kind == OpKind::kEinsum        ? einsum(node)
                    : kind == OpKind::kRecurrent     ? recurrent(node)
                    : kind == OpKind::kRecurrentCell ? recurrent_cell(node)
                    : kind == OpKind::kVector        ? vector_row(node, vector_op(op))
                                                     : false;
  if (!done) uncount(node, node.target, known_macs(node));
}

std::optional<int64_t> RowReader::known_macs(const Node& node) const {
  // Every output pixel of a deformable convolution meets every weight, wherever its inputs lie.
  if (node.op != "deform_conv2d" && node.name != "deform_conv2d") return {};
  const Value* weight = operand(node, "weight");
  const Value& output = result(node);  // [B, C, H, W]
  if (weight == nullptr || output.dim() != 4 || output.size(1) < 1) return {};
  return per_example(product_of({weight->elements(), output.elements() / output.size(1)}));
}

bool RowReader::is_bias(const Node& node) {
  if (rows.empty() || rows.back().op != "linear" || rows.back().bias != 0) return false;
  for (const std::string& name : node.tensors()) {
    const Value& v = value(name);
    if (v.activation || v.parameter.empty() || v.distinct != rows.back().output[0]) continue;
    rows.back().bias = v.distinct;
    return true;
  }
  return false;
}

bool RowReader::vector_row(const Node& node, const std::string& op) {
  std::vector<std::string> activations;
  for (const std::string& name : node.tensors()) {
    if (value(name).activation) activations.push_back(name);
  }
  const bool is_embedding = op == "embedding";
  if (op == "add" && activations.size() == 1 && is_bias(node)) return true;
  if (activations.empty() && !is_embedding) return false;
  Row row;
  row.op = op;
  row.name = names_.operation(op);
  row.output = shape(result(node));
  row.input = is_embedding     ? std::array<int64_t, 3>{1, 1, row.output[2]}
              : op == "concat" ? row.output
                               : shape(value(activations.front()));
  const int64_t last = result(node).dim() - 1;
  if (op == "softmax" && last == 3 && (node.integer("dim", -1) + 4) % 4 == last) {
    const Value& scores = result(node);  // [B, heads, queries, keys]
    row.input = row.output = {product_of({scores.size(1), scores.size(3)}), 1,
                              product_of({per_example(scores.size(0)), scores.size(2)})};
  }
  if (op == "batch_norm" || op == "layer_norm" || is_embedding) {
    row.weights = elements(operand(node, "weight"));
    row.bias = elements(operand(node, "bias"));
  }
  add(std::move(row));
  return true;
}

}  // namespace adagp::layers
