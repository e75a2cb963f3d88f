#include "adagp/sim/layers/exported_graph.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

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

std::optional<std::string> Node::tensor(const std::string& argument) const {
  const auto found = arguments.find(argument);
  if (found == arguments.end() || found->second.tensors.size() != 1) return {};
  return found->second.tensors[0];
}

std::vector<std::string> Node::tensors() const {
  std::vector<std::string> names;
  for (const auto& [key, argument] : arguments) {
    names.insert(names.end(), argument.tensors.begin(), argument.tensors.end());
  }
  return names;
}

std::vector<std::string> Node::tensors(const std::string& argument) const {
  const auto found = arguments.find(argument);
  return found == arguments.end() ? std::vector<std::string>{} : found->second.tensors;
}

std::vector<int64_t> Node::ints(const std::string& argument,
                                const std::vector<int64_t>& otherwise) const {
  const auto found = arguments.find(argument);
  return found == arguments.end() ? otherwise : found->second.ints.value_or(otherwise);
}

int64_t Node::integer(const std::string& argument, int64_t otherwise) const {
  return ints(argument, {otherwise}).at(0);
}

std::string Node::left() const {
  for (const std::string name : {"input", "mat1", "batch1", "self"}) {
    if (tensor(name)) return name;
  }
  return "";
}

bool Node::flag(const std::string& argument) const {
  const auto found = arguments.find(argument);
  return found != arguments.end() && found->second.flag;
}

std::string Node::text(const std::string& argument) const {
  const auto found = arguments.find(argument);
  return found == arguments.end() ? "" : found->second.text;
}

void Graph::add_parameter(const std::string& name, const std::string& path) {
  Value& value = values.at(name);
  value.parameter = layer_path(path);
  value.distinct = value.elements();
  parameters = sum_of(parameters, value.distinct);
}

void Graph::add_input(const std::string& name) {
  values.at(name).activation = true;
  inputs.push_back(name);
}

void Graph::add(Node node) {
  follow(node);
  nodes.push_back(std::move(node));
}

// What the results of an operation are made of.
void Graph::follow(const Node& node) {
  bool activation = false, state = makes_state(node.op);
  const Value* made_of = nullptr;
  for (const std::string& name : node.tensors()) {
    const Value& value = values.at(name);
    activation = activation || value.activation;
    state = state || value.state;
    if (!value.parameter.empty() && made_of == nullptr) made_of = &value;
  }
  // A first state times a weight is computed for each example, though it depends on none.
  const std::string left = node.left();
  if (is_product_kind(node.kind()) && !left.empty()) {
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
