// The graph of an exported program, as torch.export.save writes it.

#include <set>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/exported_graph.h"

namespace adagp::layers {
namespace {

using nlohmann::json;

// The program as JSON, without what shapes do not need. Throws DataError when it has more values
// than any network: a small archive must not take all memory.
json parse_json(const std::string& text) {
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

Argument read_argument(const json& given) {
  Argument out;
  add_tensors(given, out.tensors);
  if (given.contains("as_int")) out.ints = {given["as_int"].get<int64_t>()};
  if (given.contains("as_ints")) out.ints = given["as_ints"].get<std::vector<int64_t>>();
  out.text = given.value("as_string", "");
  out.flag = given.value("as_bool", false);
  return out;
}

// "torch.ops.aten.conv2d.default" -> "conv2d": without namespace, overload and the mark of in-place
// operations. Operations outside aten keep their whole name.
std::string aten_name(const std::string& target) {
  static const std::string kPrefix = "torch.ops.aten.";
  if (!target.starts_with(kPrefix)) return target;
  std::string name = target.substr(kPrefix.size());
  name = name.substr(0, name.find('.'));
  if (name.size() > 1 && name.ends_with('_')) name.pop_back();
  return name;
}

// The same of any namespace: "deform_conv2d" of torch.ops.torchvision.deform_conv2d.default.
std::string short_name(const std::string& target) {
  const auto parts = core::split(target, '.');  // torch.ops.<namespace>.<name>.<overload>
  return target.starts_with("torch.ops.") && parts.size() > 3 ? parts[3] : target;
}

Node read_node(const json& item) {
  Node node;
  node.target = item.at("target").get<std::string>();
  node.op = aten_name(node.target);
  node.name = short_name(node.target);
  node.module = module_path(item);
  for (const json& input : item.at("inputs")) {
    node.arguments[input.at("name").get<std::string>()] = read_argument(input.at("arg"));
  }
  for (const json& output : item.at("outputs")) add_tensors(output, node.outputs);
  return node;
}

void read_inputs(const json& signature, Graph& graph) {
  for (const json& spec : signature.at("input_specs")) {
    if (spec.contains("parameter")) {
      const json& parameter = spec["parameter"];
      graph.add_parameter(parameter.at("arg").at("name").get<std::string>(),
                          parameter.at("parameter_name").get<std::string>());
    } else if (spec.contains("user_input")) {
      std::vector<std::string> names;
      add_tensors(spec["user_input"].at("arg"), names);
      for (const std::string& name : names) graph.add_input(name);
    }
  }
}

}  // namespace

Graph parse_program(const std::string& text) {
  const json program = parse_json(text);
  const json& module = program.at("graph_module");
  const json& listed = module.at("graph");
  Graph graph;
  for (const auto& [name, meta] : listed.at("tensor_values").items()) {
    graph.values[name] = read_value(meta);
  }
  read_inputs(module.at("signature"), graph);
  for (const json& item : listed.at("nodes")) graph.add(read_node(item));
  return graph;
}

}  // namespace adagp::layers
