#include "adagp/layers/pt2_graph.h"

#include <algorithm>

#include "adagp/core/error.h"

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

Node read_node(const json& item) {
  Node node;
  node.target = item.at("target").get<std::string>();
  for (const json& input : item.at("inputs")) {
    node.arguments[input.at("name").get<std::string>()] = input.at("arg");
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

Graph::Graph(const json& program) {
  const json& module = program.at("graph_module");
  const json& graph = module.at("graph");
  for (const auto& [name, meta] : graph.at("tensor_values").items()) {
    values[name] = read_value(meta);
  }
  for (const json& spec : module.at("signature").at("input_specs")) {
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
  for (const json& item : graph.at("nodes")) {
    Node node = read_node(item);
    bool activation = false;
    const Value* made_of = nullptr;
    for (const std::string& name : node.tensors()) {
      const Value& value = values.at(name);
      activation = activation || value.activation;
      if (!value.parameter.empty() && made_of == nullptr) made_of = &value;
    }
    for (const std::string& name : node.outputs) {
      Value& value = values.at(name);
      value.activation = activation;
      if (activation || made_of == nullptr) continue;
      value.parameter = made_of->parameter;
      // A part of a weight is a weight of its own; a transposed one is not.
      value.slice = value.elements() < made_of->distinct ? name : made_of->slice;
      value.distinct = std::min(value.elements(), made_of->distinct);
    }
    nodes.push_back(std::move(node));
  }
}

}  // namespace adagp::layers
