#pragma once
// The graph inside an exported program, as far as shapes go. Torch-free.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace adagp::layers {

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

struct Node {
  std::string target;  // "torch.ops.aten.conv2d.default"
  std::string module;  // path of the module that it runs in; "" for the network itself
  std::map<std::string, nlohmann::json> arguments;
  std::vector<std::string> outputs;  // of tensors

  // "conv2d": without namespace, overload and the mark of in-place operations. Operations outside
  // aten keep their whole name.
  std::string op() const;
  // The same of any namespace: "deform_conv2d" of torch.ops.torchvision.deform_conv2d.default.
  std::string short_name() const;
  // Name of the tensor argument, if it is one.
  std::optional<std::string> tensor(const std::string& name) const;
  std::vector<std::string> tensors() const;  // all of them, in the order of their names
  // Those of one argument, one or a list.
  std::vector<std::string> tensors(const std::string& name) const;
  // The left operand of a product: "input", "mat1", "batch1" or "self"; "" when it has none.
  std::string left() const;
  std::vector<int64_t> ints(const std::string& name, std::vector<int64_t> otherwise) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  bool flag(const std::string& name) const;         // false when it is not there
  std::string text(const std::string& name) const;  // "" when it is not there
};

// The program as JSON, without what shapes do not need. Throws nlohmann's exceptions, and DataError
// when it has more values than any network: a small archive must not take all memory.
nlohmann::json parse_program(const std::string& text);

// Throws nlohmann's exceptions and std::out_of_range on JSON of another form.
struct Graph {
  explicit Graph(nlohmann::json program);

  std::map<std::string, Value> values;
  std::vector<std::string> inputs;  // of the user
  std::vector<Node> nodes;
  int64_t parameters = 0;

 private:
  void read_inputs(const nlohmann::json& signature);
  void follow(const Node& node);
};

}  // namespace adagp::layers
