#pragma once
// The graph of an exported network, as far as shapes go: what .pt2 and .onnx files have in common.
// Operations have the names and arguments of torch's aten. Torch-free.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace adagp::layers {

// Which of aten's operations are rows of a layer table. Torch-free.

enum class OpKind {
  kUnknown,
  kNoArithmetic,  // moves or makes numbers, or does nothing outside training: no row
  kNoProducts,    // computes, but multiplies no matrices: no row, and no MACs
  kConvolution,
  kLinear,
  kProduct,  // of two matrices, or stacks of them
  kAttention,
  kEinsum,
  kRecurrent,      // a whole LSTM, GRU or plain recurrent network
  kRecurrentCell,  // one step of one
  kVector,
};
bool is_product_kind(OpKind kind);
// `op` as in Node::op.
OpKind op_kind(const std::string& op);
// Its name in the table; "" when it is no vector operation.
std::string vector_op(const std::string& op);

// Whether its result is filled or expanded: a recurrent network's first state, a query that is
// learnt. Such a value is there once for each example.
bool makes_state(const std::string& op);

struct Value {
  std::vector<int64_t> sizes;
  std::vector<bool> free;   // of each size: exported as dynamic
  bool activation = false;  // depends on the network's inputs, or is made for each example
  bool state = false;       // filled or expanded, as first states are: one for each example
  std::string parameter;    // path of the parameter it is made of, when it is no activation
  std::string slice;        // the tensor that was made of it, where that is smaller
  int64_t distinct = 0;     // numbers of the parameter in it, which expanding repeats

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t size(int64_t axis) const {  // negative ones count from the end
    return sizes.at(static_cast<size_t>(axis < 0 ? axis + dim() : axis));
  }
  int64_t elements() const;
};

// What an operation is told under one name: tensors, numbers, a word or a truth value.
struct Argument {
  std::vector<std::string> tensors;
  std::optional<std::vector<int64_t>> ints;
  std::string text;
  bool flag = false;
};

struct Node {
  std::string op;      // "conv2d"; what aten does not have has a name that is none of aten's
  std::string target;  // as its file names it: "torch.ops.aten.conv2d.default", "onnx.Conv"
  std::string name;    // of that the part to show: "conv2d", "Conv"
  std::string module;  // path of the module that it runs in; "" for the network itself
  std::map<std::string, Argument> arguments;
  std::vector<std::string> outputs;  // of tensors

  OpKind kind() const { return op_kind(op); }
  // Name of the tensor argument, if it is one.
  std::optional<std::string> tensor(const std::string& argument) const;
  std::vector<std::string> tensors() const;  // all of them, in the order of their names
  // Those of one argument, one or a list.
  std::vector<std::string> tensors(const std::string& argument) const;
  // The left operand of a product: "input", "mat1", "batch1" or "self"; "" when it has none.
  std::string left() const;
  std::vector<int64_t> ints(const std::string& argument,
                            const std::vector<int64_t>& otherwise) const;
  int64_t integer(const std::string& argument, int64_t otherwise) const;
  bool flag(const std::string& argument) const;         // false when it is not there
  std::string text(const std::string& argument) const;  // "" when it is not there
};

// Throws std::out_of_range when a name stands for no value.
struct Graph {
  std::map<std::string, Value> values;
  std::vector<std::string> inputs;  // of the user
  std::vector<Node> nodes;
  int64_t parameters = 0;

  // Of values that are there. `path`: "conv1.weight", which gives rows the name "conv1".
  void add_parameter(const std::string& name, const std::string& path);
  void add_input(const std::string& name);
  // Says of its outputs what they are made of.
  void add(Node node);

 private:
  void follow(const Node& node);
};

// The graph that models/model.json of a .pt2 file has. Throws nlohmann's exceptions and
// std::out_of_range on JSON of another form, DataError when it has more values than any network.
Graph parse_program(const std::string& text);

}  // namespace adagp::layers
