#include "adagp/sim/layers/onnx/ops.h"

#include <map>
#include <utility>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/names.h"
#include "adagp/sim/layers/onnx/shapes.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

// Builds the operations of one node.
class Translation {
 public:
  Translation(const OnnxStep& step, Graph& graph)
      : step_(step), call_(step.call), op_(step.call.node.op), graph_(graph) {}

  void run();

 private:
  Argument named(const std::string& name) const { return {{name}, {}, "", false}; }
  static Argument numbers(Sizes values) { return {{}, std::move(values), "", false}; }

  // A node with operands by name; those that are left out are not there.
  Node node(const std::string& op,
            const std::vector<std::pair<std::string, std::string>>& operands);
  void add(Node made, std::vector<std::string> outputs);
  // Another tensor of the same numbers, or of a part of them.
  std::string view(const std::string& of, const std::string& suffix, Sizes sizes);

  bool knows_sizes() const;
  void all_operands(const std::string& op);
  void add_with_all(Node made);  // with operands in their order
  void unknown();
  void convolution();
  void gemm();
  void matmul();
  void einsum();
  void recurrent();
  void attention();
  void simple(const std::string& op);
  bool product();

  const OnnxStep& step_;
  const OnnxCall& call_;
  const std::string& op_;
  Graph& graph_;
};

Node Translation::node(const std::string& op,
                       const std::vector<std::pair<std::string, std::string>>& operands) {
  Node out;
  out.op = op;
  out.target = "onnx." + one_line(op_);
  out.name = one_line(op_);
  out.module = one_line(step_.module);
  for (const auto& [argument, name] : operands) {
    if (!name.empty()) out.arguments[argument] = named(name);
  }
  return out;
}

void Translation::add(Node made, std::vector<std::string> outputs) {
  std::erase(outputs, "");
  made.outputs = std::move(outputs);
  graph_.add(std::move(made));
}

std::string Translation::view(const std::string& of, const std::string& suffix, Sizes sizes) {
  std::string name = of + suffix;
  graph_.values[name].sizes = std::move(sizes);
  add(node("view", {{"self", of}}), {name});
  return name;
}

bool Translation::knows_sizes() const {
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    if (call_.has(i) && call_.sizes(i) == nullptr) return false;
  }
  return !call_.outputs.empty() && call_.outputs[0].sizes;
}

void Translation::all_operands(const std::string& op) {
  add_with_all(node(op, {}));
}

void Translation::add_with_all(Node made) {
  for (size_t i = 0; i < step_.inputs.size(); ++i) {
    if (!step_.inputs[i].empty()) made.arguments[core::cat("input", i)] = named(step_.inputs[i]);
  }
  add(std::move(made), step_.outputs);
}

void Translation::convolution() {
  const OnnxPlaces places = places_of(op_);
  const Sizes& weight = *call_.sizes(places.weight);
  const Sizes kernel(weight.begin() + 2, weight.end());
  const size_t axes = kernel.size();
  const Sizes stride = call_.integers("strides", axes, 1);
  const Sizes dilation = call_.integers("dilations", axes, 1);
  const bool transposed = op_ == "ConvTranspose";
  const std::string kind = op_ == "DeformConv" ? "deform_conv"
                           : transposed        ? "conv_transpose"
                                               : "conv";
  Node made = node(core::cat(kind, axes, "d"),
                   {{"input", step_.input(0)},
                    {"weight", step_.input(places.weight)},
                    {"bias", step_.input(op_ == "DeformConv" ? 3 : places.bias)}});
  made.arguments["stride"] = numbers(stride);
  made.arguments["dilation"] = numbers(dilation);
  made.arguments["padding"] = numbers(table_padding(call_, kernel, stride, dilation));
  made.arguments["groups"] = numbers({call_.integer("group", 1)});
  add(std::move(made), step_.outputs);
}

void Translation::gemm() {
  std::string left = step_.input(0);
  const std::string right = step_.input(1), bias = step_.input(2);
  if (call_.integer("transA", 0) != 0) {
    left =
        view(left, "/turned:" + step_.outputs[0], {call_.sizes(0)->at(1), call_.sizes(0)->at(0)});
  }
  if (call_.integer("transB", 0) != 0) {
    add(node("linear", {{"input", left}, {"weight", right}, {"bias", bias}}), step_.outputs);
  } else if (!bias.empty()) {
    add(node("addmm", {{"self", bias}, {"mat1", left}, {"mat2", right}}), step_.outputs);
  } else {
    add(node("mm", {{"self", left}, {"mat2", right}}), step_.outputs);
  }
}

void Translation::matmul() {
  add(node("matmul", {{"self", step_.input(0)}, {"other", step_.input(places_of(op_).weight)}}),
      step_.outputs);
}

void Translation::einsum() {
  Node made = node("einsum", {});
  made.arguments["equation"] = {{}, {}, call_.text("equation"), false};
  made.arguments["tensors"] = {step_.inputs, {}, "", false};
  add(std::move(made), step_.outputs);
}

// W [directions, gates, in] and R [directions, gates, state] of torch's layers are matrices.
void Translation::recurrent() {
  const std::string weight = step_.input(1), own = step_.input(2);
  const Sizes &in = *call_.sizes(1), &state = *call_.sizes(2);
  const int64_t directions = in[0], gates = in[1];
  Argument params;
  const bool biases = call_.has(3);
  for (int64_t d = 0; d < directions; ++d) {
    const std::string part = core::cat("[", d, "]:", step_.outputs.empty() ? "" : step_.outputs[0]);
    params.tensors.push_back(view(weight, part, {gates, in[2]}));
    params.tensors.push_back(view(own, part, {gates, state[2]}));
    for (int i = 0; biases && i < 2; ++i) {
      params.tensors.push_back(view(step_.input(3), core::cat(part, "/", i), {gates}));
    }
  }
  static const std::map<std::string, std::string> kNames{
      {"LSTM", "lstm"}, {"GRU", "gru"}, {"RNN", "rnn_tanh"}};
  Node made = node(kNames.at(op_), {{"input", step_.input(0)}});
  made.arguments["params"] = std::move(params);
  made.arguments["has_biases"].flag = biases;
  made.arguments["batch_first"].flag = call_.integer("layout", 0) == 1;
  add(std::move(made), step_.outputs);
}

// Operands [batch, positions, heads x width] as [batch, heads, positions, width].
void Translation::attention() {
  const char* const roles[] = {"query", "key", "value"};
  std::vector<std::pair<std::string, std::string>> operands;
  for (size_t i = 0; i < 3; ++i) {
    std::string name = step_.input(i);
    Sizes sizes = *call_.sizes(i);
    if (sizes.size() == 3) {
      const int64_t heads = call_.integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0);
      if (heads < 1 || sizes[2] % heads != 0) does_not_fit("its heads");
      sizes = {sizes[0], heads, sizes[1], sizes[2] / heads};
    }
    if (const Sizes* past = call_.sizes(i + 3); i > 0 && past != nullptr && past->size() == 4) {
      sizes[2] = sum_of(sizes[2], (*past)[2]);  // keys and values of earlier positions
    }
    operands.emplace_back(roles[i],
                          view(name, core::cat("/", roles[i], ":", step_.outputs[0]), sizes));
  }
  add(node("scaled_dot_product_attention", operands), step_.outputs);
}

void Translation::simple(const std::string& op) {
  Node made = node(op, {});
  const bool made_of_sizes = op == "zeros" || op == "arange" || op == "randn" || op == "rand";
  if (!made_of_sizes) made.arguments["input"] = named(step_.input(0));
  if (op_.ends_with("Normalization") && !step_.input(1).empty()) {
    made.arguments["weight"] = named(step_.input(1));
    if (!step_.input(2).empty()) made.arguments["bias"] = named(step_.input(2));
  }
  if (op.ends_with("softmax")) made.arguments["dim"] = numbers({call_.integer("axis", -1)});
  add(std::move(made), {step_.outputs.at(0)});  // further outputs, as of indices, have no row
}

// False when the node is none.
bool Translation::product() {
  static const std::map<std::string, void (Translation::*)()> kProducts{
      {"Conv", &Translation::convolution},        {"ConvTranspose", &Translation::convolution},
      {"ConvInteger", &Translation::convolution}, {"QLinearConv", &Translation::convolution},
      {"DeformConv", &Translation::convolution},  {"Gemm", &Translation::gemm},
      {"MatMul", &Translation::matmul},           {"MatMulInteger", &Translation::matmul},
      {"QLinearMatMul", &Translation::matmul},    {"Einsum", &Translation::einsum},
      {"LSTM", &Translation::recurrent},          {"GRU", &Translation::recurrent},
      {"RNN", &Translation::recurrent},           {"Attention", &Translation::attention}};
  const auto found = kProducts.find(op_);
  if (found == kProducts.end() || !knows_sizes()) return false;
  (this->*found->second)();
  return true;
}

void Translation::run() {
  if (product()) return;
  const std::string first = step_.input(0);
  const std::string simple_op = simple_name(op_);
  if (only_moves(op_)) return all_operands("view");
  if (has_no_products(op_)) return all_operands("mul");
  if (!simple_op.empty() && knows_sizes()) return simple(simple_op);
  if (knows_sizes() && op_ == "Gather" && call_.inputs.size() > 1) {
    const bool learnt =
        !graph_.values.at(first).parameter.empty() && !graph_.values.at(first).activation;
    if (!learnt) return all_operands("index_select");
    return add(node("embedding", {{"weight", first}, {"indices", step_.input(1)}}), step_.outputs);
  }
  if (knows_sizes() && (op_ == "Add" || op_ == "Sub")) {
    return add(node("add", {{"self", first}, {"other", step_.input(1)}}), step_.outputs);
  }
  if (knows_sizes() && op_ == "Concat") {
    Node made = node("cat", {});
    made.arguments["tensors"].tensors = step_.inputs;
    return add(std::move(made), step_.outputs);
  }
  // Of unknown sizes; they multiply nothing.
  if (!simple_op.empty() || op_ == "Add" || op_ == "Sub") return all_operands("mul");
  if (op_ == "Concat" || op_ == "Gather") return all_operands("view");
  unknown();
}

// The table names the node, and its module where that is known.
void Translation::unknown() {
  const bool known = product_rule(op_) != nullptr || window_rule(op_) != nullptr;
  Node made = node("onnx." + one_line(op_), {});
  if (made.module.empty()) made.module = one_line(call_.node.name);
  if (!knows_sizes() && known) made.target += ", sizes not known";
  add_with_all(std::move(made));
}

}  // namespace

void translate(const OnnxStep& step, Graph& graph) {
  Translation(step, graph).run();
}

}  // namespace adagp::layers
