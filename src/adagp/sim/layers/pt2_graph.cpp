#include "adagp/sim/layers/pt2_graph.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/pt2_ops.h"

namespace adagp::layers {
namespace {

using nlohmann::json;

// A size is a number or an expression of symbols with the number it had when exported.
int64_t size_of(const json& size) {
  if (size.contains("as_int")) return size["as_int"].get<int64_t>();
  return size.at("as_expr").at("hint").at("as_int").get<int64_t>();
}

Value read_value(const json& meta) {
  Value value;
  for (const json& size : meta.at("sizes")) {
    value.sizes.push_back(size_of(size));
    value.free.push_back(!size.contains("as_int"));
    if (value.sizes.back() < 0) throw DataError("a tensor has a negative size");
  }
  return value;
}

// Tensor names of an argument, which may hold none, one or a list.
void add_tensors(const json& argument, std::vector<std::string>& names) {
  if (argument.contains("as_tensor")) {
    names.push_back(argument["as_tensor"].at("name").get<std::string>());
  }
  if (argument.contains("as_tensors")) {
    for (const json& one : argument["as_tensors"]) {
      names.push_back(one.at("name").get<std::string>());
    }
  }
  if (argument.contains("as_optional_tensors")) {
    for (const json& one : argument["as_optional_tensors"]) add_tensors(one, names);
  }
}

// "L__self__,,Net;L__self__conv1,conv1,torch.nn.Conv2d": the path of the innermost module is the
// second part of the last entry.
std::string module_path(const json& item) {
  if (!item.contains("metadata")) return "";
  const std::string stack = item["metadata"].value("nn_module_stack", "");
  const auto innermost = core::split(stack.substr(stack.rfind(';') + 1), ',');
  return innermost.size() < 2 ? "" : innermost[1];
}

Node read_node(json& item) {
  Node node;
  node.target = item.at("target").get<std::string>();
  node.module = module_path(item);
  for (json& input : item.at("inputs")) {
    node.arguments[input.at("name").get<std::string>()] = std::move(input.at("arg"));
  }
  for (const json& output : item.at("outputs")) add_tensors(output, node.outputs);
  return node;
}

// "conv1.weight" -> "conv1", "attention.in_proj_weight" -> "attention.in_proj".
std::string layer_path(std::string parameter) {
  for (const std::string ending : {".weight", "_weight"}) {
    if (parameter.ends_with(ending) && parameter.size() > ending.size()) {
      parameter.resize(parameter.size() - ending.size());
      break;
    }
  }
  return parameter;
}

}  // namespace

json parse_program(const std::string& text) {
  // Of every operation: where it stands in the source, memory layouts, ... Most of the file.
  static const std::set<std::string> kUnused{
      "stack_trace", "torch_fn",  "from_node",        "strides", "storage_offset",
      "device",      "layout",    "requires_grad",    "kind",    "module_call_graph",
      "guards_code", "verifiers", "range_constraints"};
  constexpr int64_t kMostValues = 4'000'000;  // some 50 of an operation
  constexpr int kDeepest = 200;               // what reads the graph calls itself
  int64_t values = 0;
  std::vector<std::string> keys;  // by depth
  return json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepest) {
      throw DataError(core::cat("lists and objects lie in each other more than ", kDeepest,
                                " times, expected the list of a network's operations"));
    }
    if (event == json::parse_event_t::key) {
      const auto level = static_cast<size_t>(depth);
      const std::string key = parsed.get<std::string>();
      // The keys of tensor_values are names of the user's.
      const bool named = level > 0 && level <= keys.size() && keys[level - 1] == "tensor_values";
      keys.resize(level);
      keys.push_back(key);
      return named || !kUnused.contains(key);
    }
    if (++values > kMostValues) {
      throw DataError(core::cat("has more than ", kMostValues,
                                " values, expected the list of a network's operations"));
    }
    return true;
  });
}

int64_t Value::elements() const {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) {
      throw DataError("a tensor's size does not fit into 64 bits");
    }
  }
  return count;
}

std::string Node::op() const {
  static const std::string kPrefix = "torch.ops.aten.";
  if (!target.starts_with(kPrefix)) return target;
  std::string name = target.substr(kPrefix.size());
  name = name.substr(0, name.find('.'));
  if (name.size() > 1 && name.ends_with('_')) name.pop_back();
  return name;
}

std::string Node::short_name() const {
  const auto parts = core::split(target, '.');  // torch.ops.<namespace>.<name>.<overload>
  return target.starts_with("torch.ops.") && parts.size() > 3 ? parts[3] : target;
}

std::optional<std::string> Node::tensor(const std::string& name) const {
  const auto found = arguments.find(name);
  if (found == arguments.end() || !found->second.contains("as_tensor")) return {};
  return found->second["as_tensor"].at("name").get<std::string>();
}

std::vector<std::string> Node::tensors() const {
  std::vector<std::string> names;
  for (const auto& [name, argument] : arguments) add_tensors(argument, names);
  return names;
}

std::vector<int64_t> Node::ints(const std::string& name, std::vector<int64_t> otherwise) const {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return otherwise;
  if (found->second.contains("as_int")) return {found->second["as_int"].get<int64_t>()};
  if (!found->second.contains("as_ints")) return otherwise;
  return found->second["as_ints"].get<std::vector<int64_t>>();
}

int64_t Node::integer(const std::string& name, int64_t otherwise) const {
  return ints(name, {otherwise}).at(0);
}

std::vector<std::string> Node::tensors(const std::string& name) const {
  std::vector<std::string> names;
  const auto found = arguments.find(name);
  if (found != arguments.end()) add_tensors(found->second, names);
  return names;
}

std::string Node::left() const {
  for (const std::string name : {"input", "mat1", "batch1", "self"}) {
    if (tensor(name)) return name;
  }
  return "";
}

bool Node::flag(const std::string& name) const {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->second.value("as_bool", false);
}

std::string Node::text(const std::string& name) const {
  const auto found = arguments.find(name);
  return found == arguments.end() ? "" : found->second.value("as_string", "");
}

Graph::Graph(json program) {
  json& module = program.at("graph_module");
  json& graph = module.at("graph");
  for (const auto& [name, meta] : graph.at("tensor_values").items()) {
    values[name] = read_value(meta);
  }
  read_inputs(module.at("signature"));
  for (json& item : graph.at("nodes")) {
    nodes.push_back(read_node(item));
    follow(nodes.back());
  }
}

void Graph::read_inputs(const json& signature) {
  for (const json& spec : signature.at("input_specs")) {
    if (spec.contains("parameter")) {
      const json& parameter = spec["parameter"];
      Value& value = values.at(parameter.at("arg").at("name").get<std::string>());
      value.parameter = layer_path(parameter.at("parameter_name").get<std::string>());
      value.distinct = value.elements();
      parameters += value.distinct;
    } else if (spec.contains("user_input")) {
      std::vector<std::string> names;
      add_tensors(spec["user_input"].at("arg"), names);
      for (const std::string& name : names) {
        values.at(name).activation = true;
        inputs.push_back(name);
      }
    }
  }
}

// What the results of an operation are made of.
void Graph::follow(const Node& node) {
  bool activation = false, state = makes_state(node.op());
  const Value* made_of = nullptr;
  for (const std::string& name : node.tensors()) {
    const Value& value = values.at(name);
    activation = activation || value.activation;
    state = state || value.state;
    if (!value.parameter.empty() && made_of == nullptr) made_of = &value;
  }
  // A first state times a weight is computed for each example, though it depends on none.
  const std::string left = node.left();
  if (is_product_kind(op_kind(node.op())) && !left.empty()) {
    activation = activation || values.at(*node.tensor(left)).state;
  }
  for (const std::string& name : node.outputs) {
    Value& value = values.at(name);
    value.activation = activation;
    value.state = state && !activation;
    if (activation || made_of == nullptr) continue;
    value.parameter = made_of->parameter;
    // A part of a weight is a weight of its own; a transposed one is not.
    value.slice = value.elements() < made_of->distinct ? name : made_of->slice;
    value.distinct = std::min(value.elements(), made_of->distinct);
  }
}

}  // namespace adagp::layers
