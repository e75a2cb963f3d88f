#include "adagp/layers/pt2.h"

#include <algorithm>
#include <optional>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/io/archive.h"
#include "adagp/layers/pt2_graph.h"
#include "adagp/layers/pt2_ops.h"
#include "adagp/layers/table_names.h"

namespace adagp::layers {
namespace {

class Reader {
 public:
  Reader(const Graph& graph, int64_t batch) : graph_(graph), batch_(batch) {}

  void read(const Node& node) {
    const std::string op = node.op();
    bool activation = false;
    for (const std::string& name : node.tensors()) activation |= value(name).activation;
    if (op == "embedding") activation = true;  // positions, say, are looked up by constants
    if (!activation || node.outputs.empty()) return;
    const OpKind kind = op_kind(op);
    if (kind == OpKind::kNoArithmetic) return;
    const bool done = kind == OpKind::kConvolution ? convolution(node)
                      : kind == OpKind::kLinear    ? linear(node, "input", "weight", true)
                      : kind == OpKind::kProduct   ? product(node)
                      : kind == OpKind::kAttention ? attention(node)
                      : kind == OpKind::kVector    ? vector_row(node, vector_op(op))
                                                   : false;
    if (!done) ++unknown[node.target];
  }

  std::vector<Row> rows;
  std::map<std::string, int64_t> unknown;

 private:
  const Value& value(const std::string& name) const { return graph_.values.at(name); }
  const Value* operand(const Node& node, const std::string& name) const {
    const auto tensor = node.tensor(name);
    return tensor ? &value(*tensor) : nullptr;
  }
  const Value& result(const Node& node) const { return value(node.outputs.at(0)); }
  static int64_t elements(const Value* v) { return v == nullptr ? 0 : v->elements(); }

  // How many of `count` belong to one example; what does not divide is shared by all.
  int64_t per_example(int64_t count) const { return count % batch_ == 0 ? count / batch_ : count; }

  // C, H, W of one example; features, 1, positions of anything but maps.
  std::array<int64_t, 3> shape(const Value& v) const {
    if (v.dim() == 4) return {v.size(1), v.size(2), v.size(3)};
    const int64_t features = v.dim() == 0 ? 1 : v.size(-1);
    if (features == 0) throw DataError("a tensor is empty");
    return {features, 1, per_example(v.elements() / features)};
  }

  void add(Row row) {
    complete(row);
    rows.push_back(std::move(row));
  }

  std::string layer_name(const Value& weight) {
    if (weight.parameter.empty()) return names_.operation("constant");
    return weight.slice.empty() ? names_.weight_layer(weight.parameter)
                                : names_.weight_part(weight.parameter, weight.slice);
  }

  bool convolution(const Node& node) {
    const Value* input = operand(node, "input");
    const Value* weight = operand(node, "weight");
    const auto transposed = node.arguments.find("transposed");
    if (transposed != node.arguments.end() && transposed->second.value("as_bool", false)) {
      return false;
    }
    if (input == nullptr || weight == nullptr || weight->activation) return false;
    const Value& output = result(node);
    const int64_t axes = weight->dim() - 2;
    if ((axes != 1 && axes != 2) || input->dim() != axes + 2) return false;
    // One axis is the width of a map of height 1.
    const auto two = [&](std::vector<int64_t> given, int64_t neutral) {
      if (axes == 1) return std::array<int64_t, 2>{neutral, given.at(0)};
      return std::array<int64_t, 2>{given.at(0), given.size() > 1 ? given[1] : given[0]};
    };
    const auto map = [&](const Value& v) {
      if (axes == 1) return std::array<int64_t, 3>{v.size(1), 1, v.size(2)};
      return std::array<int64_t, 3>{v.size(1), v.size(2), v.size(3)};
    };
    Row row;
    row.name = layer_name(*weight);
    row.op = "conv2d";
    row.input = map(*input);
    row.output = map(output);
    row.kernel = two({weight->sizes.begin() + 2, weight->sizes.end()}, 1);
    row.stride = two(node.ints("stride", {1, 1}), 1);
    row.padding = two(node.ints("padding", {0, 0}), 0);
    const auto padding = node.arguments.find("padding");
    if (padding != node.arguments.end() && padding->second.value("as_string", "") == "same") {
      const auto dilation = two(node.ints("dilation", {1, 1}), 1);
      for (const size_t axis : {0, 1}) {
        row.padding[axis] = (dilation[axis] * (row.kernel[axis] - 1) + 1) / 2;
      }
    }
    row.groups = node.integer("groups", 1);
    if (row.groups < 1 || row.input[0] % row.groups != 0) return false;
    row.bias = elements(operand(node, "bias"));
    add(std::move(row));
    return true;
  }

  // `rows_are_outputs`: the weight is [out, in], as torch keeps it, else [in, out].
  bool linear(const Node& node, const char* input_name, const char* weight_name,
              bool rows_are_outputs) {
    const Value* input = operand(node, input_name);
    const Value* weight = operand(node, weight_name);
    if (input == nullptr || weight == nullptr || weight->activation || weight->dim() < 2) {
      return false;
    }
    Row row;
    row.name = layer_name(*weight);
    row.op = "linear";
    const int64_t in = weight->size(rows_are_outputs ? -1 : -2);
    const int64_t out = weight->size(rows_are_outputs ? -2 : -1);
    if (in < 1) return false;
    const int64_t positions = per_example(input->elements() / in);
    row.input = {in, 1, positions};
    row.output = {out, 1, positions};
    const Value* bias = operand(node, rows_are_outputs ? "bias" : "self");
    if (bias != nullptr && !bias->activation) row.bias = elements(bias);
    add(std::move(row));
    return true;
  }

  bool product(const Node& node) {
    // mm and bmm: self x mat2; matmul: self x other; addmm, baddbmm: self + mat1 x mat2.
    const char* left_name = node.tensor("mat1")     ? "mat1"
                            : node.tensor("batch1") ? "batch1"
                                                    : "self";
    const char* right_name = node.tensor("mat2")    ? "mat2"
                             : node.tensor("other") ? "other"
                                                    : "batch2";
    const Value* left = operand(node, left_name);
    const Value* right = operand(node, right_name);
    if (left == nullptr || right == nullptr || left->dim() < 2 || right->dim() < 2) return false;
    // A weight may stand there once for each example.
    const bool one_matrix = right->size(-1) * right->size(-2) == right->distinct;
    const bool weight = !right->activation && !right->parameter.empty();
    if (weight && (right->dim() == 2 || one_matrix))
      return linear(node, left_name, right_name, false);
    const Value& output = result(node);
    if (output.dim() < 2) return false;
    matmul({left->size(-2), left->size(-1), output.size(-1)}, output);
    return true;
  }

  struct Sizes {
    int64_t m, k, n;
  };
  // One [m, k] x [k, n] for each matrix of `output` that belongs to an example.
  void matmul(const Sizes& sizes, const Value& output) {
    const int64_t matrices = output.elements() / std::max<int64_t>(1, output.size(-1)) /
                             std::max<int64_t>(1, output.size(-2));
    Row row;
    row.op = "matmul";
    row.name = names_.operation(row.op);
    row.groups = std::max<int64_t>(1, per_example(matrices));
    row.input = {sizes.k * row.groups, 1, sizes.m};
    row.output = {sizes.n * row.groups, 1, sizes.m};
    add(std::move(row));
  }

  bool attention(const Node& node) {
    const Value* query = operand(node, "query");
    const Value* key = operand(node, "key");
    const Value* values = operand(node, "value");
    if (query == nullptr || key == nullptr || values == nullptr || query->dim() < 3) return false;
    const int64_t queries = query->size(-2), keys = key->size(-2);
    matmul({queries, query->size(-1), keys}, *query);
    Row softmax;
    softmax.op = "softmax";
    softmax.name = names_.operation(softmax.op);
    softmax.input = {keys * rows.back().groups, 1, queries};
    softmax.output = softmax.input;
    add(std::move(softmax));
    matmul({queries, keys, values->size(-1)}, *query);
    return true;
  }

  // Whether an addition gives the linear layer just before its bias, as decomposed graphs have it.
  bool is_bias(const Node& node) {
    if (rows.empty() || rows.back().op != "linear" || rows.back().bias != 0) return false;
    for (const std::string& name : node.tensors()) {
      const Value& v = value(name);
      if (v.activation || v.parameter.empty() || v.distinct != rows.back().output[0]) continue;
      rows.back().bias = v.distinct;
      return true;
    }
    return false;
  }

  bool vector_row(const Node& node, const std::string& op) {
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
      row.input = row.output = {scores.size(1) * scores.size(3), 1, scores.size(2)};
    }
    if (op == "batch_norm" || op == "layer_norm" || is_embedding) {
      row.weights = elements(operand(node, "weight"));
      row.bias = elements(operand(node, "bias"));
    }
    add(std::move(row));
    return true;
  }

  const Graph& graph_;
  int64_t batch_;
  RowNames names_;
};

std::string input_text(const Graph& graph) {
  std::vector<std::string> texts;
  for (const std::string& name : graph.inputs) {
    std::vector<std::string> sizes;
    const Value& input = graph.values.at(name);
    for (int64_t axis = 1; axis < input.dim(); ++axis) {
      sizes.push_back(std::to_string(input.size(axis)));
    }
    texts.push_back(sizes.empty() ? "1" : core::join(sizes, "x"));
  }
  return core::join(texts, ",");
}

}  // namespace

Exported parse_pt2(const std::string& json, const std::string& model, const std::string& file_name,
                   int64_t batch) {
  try {
    const Graph graph(nlohmann::json::parse(json));
    Exported out;
    if (batch < 1) {
      batch = graph.inputs.empty() || graph.values.at(graph.inputs[0]).dim() == 0
                  ? 1
                  : graph.values.at(graph.inputs[0]).size(0);
    }
    out.batch = std::max<int64_t>(1, batch);
    Reader reader(graph, out.batch);
    for (const Node& node : graph.nodes) reader.read(node);
    out.table = {model, input_text(graph), std::move(reader.rows)};
    out.unknown = std::move(reader.unknown);
    out.parameters = graph.parameters;
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(core::cat(file_name, ": models/model.json is not what torch.export.save ",
                              "writes: ", error.what()));
  } catch (const std::out_of_range&) {
    throw DataError(file_name + ": models/model.json uses a tensor or an argument that it does " +
                    "not describe");
  } catch (const DataError& error) {
    throw DataError(file_name + ": models/model.json: " + error.what());
  }
}

Exported read_pt2(const core::fs::path& path, int64_t batch) {
  static const std::string kNames[] = {"models/model.json",
                                       "serialized_exported_program.json"};  // up to torch 2.7
  const auto wanted = [](const std::string& name) {
    for (const std::string& known : kNames) {
      if (name == known || name.ends_with("/" + known)) return true;
    }
    return false;
  };
  std::optional<std::string> json;
  io::for_each_member(
      path, [&](const std::string&, std::string bytes) { json = std::move(bytes); }, wanted);
  if (!json) {
    throw DataError(path.string() +
                    ": has no models/model.json; expected what torch.export.save writes: "
                    "torch.export.save(torch.export.export(model, (x,)), 'model.pt2')");
  }
  return parse_pt2(*json, path.stem().string(), path.string(), batch);
}

}  // namespace adagp::layers
