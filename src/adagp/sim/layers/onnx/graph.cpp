#include "adagp/sim/layers/onnx/graph.h"

#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/inputs.h"
#include "adagp/sim/layers/onnx/names.h"
#include "adagp/sim/layers/onnx/ops.h"
#include "adagp/sim/layers/onnx/shapes.h"

namespace adagp::layers {
namespace {

constexpr int64_t kMostNodes = 200'000;   // with those inside functions, at each call
constexpr int64_t kMostKept = 4'000'000;  // numbers of constants
constexpr size_t kMostWork = 4'000'000;   // names and numbers, at each call
constexpr size_t kSmall = 32;             // so many bytes of a name, or numbers, are free
constexpr size_t kConstant = 16;          // a constant takes more memory than a name

// What a copy of it costs.
size_t parts_of(const std::string& text) {
  return 1 + text.size() / kSmall;
}

size_t parts_of(const OnnxTensor& tensor) {
  const size_t numbers = tensor.numbers ? tensor.numbers->values.size() : 0;
  return kConstant + parts_of(tensor.name) + (tensor.sizes.size() + numbers) / kSmall;
}

size_t parts_of(const std::map<std::string, OnnxAttribute>& attributes) {
  size_t parts = 0;
  for (const auto& [name, one] : attributes) {
    parts += parts_of(name) + parts_of(one.text) - 1;
    parts += (one.integers.size() + one.reals.size()) / kSmall;
    if (one.tensor) parts += parts_of(*one.tensor);
  }
  return parts;
}

size_t parts_of(const OnnxNode& node) {
  size_t parts = parts_of(node.op + node.name + node.module) + parts_of(node.attributes);
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) parts += parts_of(name);
  }
  return parts;
}

using Attributes = std::map<std::string, OnnxAttribute>;

// Goes through the nodes in their order, with the sizes and small constants that are known so far.
class Walk {
 public:
  Walk(const OnnxModel& model, const OnnxInputs& wanted) : model_(model), wanted_(wanted) {}

  Graph run();

 private:
  void define(const std::string& name, OnnxValue value, const std::vector<bool>& free = {});
  void add_constant(const OnnxTensor& tensor, const std::string& global);
  void add_constants(const OnnxGraph& graph, OnnxScope& scope);
  void note_shapes(const std::vector<OnnxShape>& shapes);

  // Calls multiply what a file has: a small one must not take all memory, nor hours.
  void charge(size_t parts);
  void nodes(const std::vector<OnnxNode>& list, OnnxScope& scope, const Attributes* outer);
  void visit(const OnnxNode& node, OnnxScope& scope);
  void call_function(const OnnxFunction& function, const OnnxNode& node, OnnxScope& scope);
  // Whether the node is an If whose condition is known.
  bool branch(const OnnxNode& node, OnnxScope& scope);
  void compute(const OnnxNode& node, OnnxScope& scope);
  bool define_results(OnnxStep& step, OnnxScope& scope);
  void take_told_sizes(const OnnxNode& node, OnnxCall& call) const;
  std::string operand(const std::string& name, const OnnxScope& scope);

  const OnnxModel& model_;
  const OnnxInputs& wanted_;
  Graph graph_;
  OnnxNames names_;
  std::map<std::string, OnnxValue> values_;  // as graph_.values
  std::map<std::string, Sizes> told_;        // by the file, of the main graph's values
  std::map<std::string, int64_t> symbols_;
  int64_t visited_ = 0, kept_ = 0, calls_ = 0;
  size_t work_ = 0;
  int depth_ = 0;
};

void Walk::define(const std::string& name, OnnxValue value, const std::vector<bool>& free) {
  Value& shown = graph_.values[name];
  shown.sizes = value.sizes.value_or(Sizes{});
  shown.free = free.empty() ? std::vector<bool>(shown.sizes.size()) : free;
  shown.elements();  // refuses more than 64 bits
  if (value.numbers) {
    kept_ += static_cast<int64_t>(value.numbers->values.size());
    if (kept_ > kMostKept) value.numbers.reset();
  }
  values_[name] = std::move(value);
}

void Walk::add_constant(const OnnxTensor& tensor, const std::string& global) {
  define(global, {tensor.sizes, tensor.numbers});
  if (tensor.learnt && !tensor.sizes.empty()) graph_.add_parameter(global, names_.of(global));
}

void Walk::add_constants(const OnnxGraph& graph, OnnxScope& scope) {
  names_.look_at(graph.nodes);
  for (const OnnxTensor& tensor : graph.constants) {
    charge(parts_of(tensor));
    add_constant(tensor, scope.define(tensor.name));
  }
}

void Walk::note_shapes(const std::vector<OnnxShape>& shapes) {
  for (const OnnxShape& shape : shapes) {
    if (!shape.sizes) continue;
    Sizes sizes;
    for (const OnnxSize& one : *shape.sizes) {
      const auto symbol = symbols_.find(one.symbol);
      if (one.size) sizes.push_back(*one.size);
      if (!one.size && symbol != symbols_.end()) sizes.push_back(symbol->second);
    }
    if (sizes.size() == shape.sizes->size()) told_[shape.name] = std::move(sizes);
  }
}

Graph Walk::run() {
  OnnxScope scope(nullptr, "");
  add_constants(model_.graph, scope);
  for (OnnxInput& input : fixed_inputs(model_.graph, wanted_, symbols_)) {
    const std::string global = scope.define(input.name);
    define(global, {std::move(input.sizes), {}}, input.free);
    graph_.add_input(global);
  }
  note_shapes(model_.graph.shapes);
  note_shapes(model_.graph.outputs);
  nodes(model_.graph.nodes, scope, nullptr);
  return std::move(graph_);
}

void Walk::charge(size_t parts) {
  work_ += parts;
  if (work_ > kMostWork) {
    throw DataError(core::cat("has more than ", kMostWork,
                              " names and numbers with those inside functions and branches, "
                              "expected a network's"));
  }
}

void Walk::nodes(const std::vector<OnnxNode>& list, OnnxScope& scope, const Attributes* outer) {
  for (const OnnxNode& node : list) {
    if (++visited_ > kMostNodes) {
      throw DataError(core::cat("has more than ", kMostNodes, " nodes, expected a network's"));
    }
    charge(parts_of(node));
    if (outer == nullptr) {
      visit(node, scope);
      continue;
    }
    OnnxNode filled = node;
    filled.attributes.clear();
    for (const auto& [name, attribute] : node.attributes) {
      const auto found = outer->find(attribute.reference);
      if (attribute.reference.empty()) filled.attributes.emplace(name, attribute);
      if (!attribute.reference.empty() && found != outer->end()) {
        filled.attributes.emplace(name, found->second);
      }
    }
    visit(filled, scope);
  }
}

void Walk::visit(const OnnxNode& node, OnnxScope& scope) {
  if (++depth_ > kDeepestGraphs) {
    throw DataError(core::cat("functions and graphs lie in each other more than ", kDeepestGraphs,
                              " times, expected the list of a network's operations"));
  }
  const auto function = model_.functions.find(node.op);
  if (function != model_.functions.end()) {
    call_function(function->second, node, scope);
  } else if (!branch(node, scope)) {
    compute(node, scope);
  }
  --depth_;
}

std::string Walk::operand(const std::string& name, const OnnxScope& scope) {
  if (name.empty()) return "";
  const auto global = scope.find(name);
  if (!global) {
    throw DataError("needs '" + name +
                    "', which nothing before it computes: a cycle, or nodes out "
                    "of order");
  }
  charge(parts_of(*global));
  return *global;
}

void Walk::call_function(const OnnxFunction& function, const OnnxNode& node, OnnxScope& scope) {
  OnnxScope inside(nullptr, core::cat(node.op.substr(0, kSmall), "#", ++calls_, "/"));
  charge(function.inputs.size() + parts_of(function.defaults) + parts_of(node.attributes));
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const bool there = i < node.inputs.size();
    inside.alias(function.inputs[i], there ? operand(node.inputs[i], scope) : "");
  }
  Attributes attributes = node.attributes;
  attributes.insert(function.defaults.begin(), function.defaults.end());
  nodes(function.nodes, inside, &attributes);
  for (size_t i = 0; i < node.outputs.size() && i < function.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) {
      scope.alias(node.outputs[i], operand(function.outputs[i], inside));
    }
  }
}

bool Walk::branch(const OnnxNode& node, OnnxScope& scope) {
  if (node.op != "If" || node.inputs.size() != 1) return false;
  const OnnxValue& condition = values_.at(operand(node.inputs[0], scope));
  if (!condition.numbers || condition.numbers->values.size() != 1) return false;
  const bool yes = condition.numbers->values[0] != 0;
  const auto taken = node.attributes.find(yes ? "then_branch" : "else_branch");
  if (taken == node.attributes.end() || !taken->second.graph) return false;
  const OnnxGraph& graph = *taken->second.graph;
  OnnxScope inside(&scope, core::cat("If#", ++calls_, "/"));
  add_constants(graph, inside);
  nodes(graph.nodes, inside, nullptr);
  for (size_t i = 0; i < node.outputs.size() && i < graph.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) {
      scope.alias(node.outputs[i], operand(graph.outputs[i].name, inside));
    }
  }
  return true;
}

// What the file says of a value whose sizes its node does not tell. Where both do, they must agree:
// else one of them would give wrong MACs.
void Walk::take_told_sizes(const OnnxNode& node, OnnxCall& call) const {
  if (depth_ > 1) return;  // names of functions are their own
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto told = told_.find(node.outputs[i]);
    if (told == told_.end()) continue;
    auto& sizes = call.outputs[i].sizes;
    if (sizes && *sizes != told->second) {
      throw DataError(core::cat("gives '", node.outputs[i], "' the sizes ", sizes_text(*sizes),
                                ", but the file says ", sizes_text(told->second)));
    }
    sizes = told->second;
  }
}

// Gives the results their names. Whether all are sizes, axes or conditions, which are no part of
// the network's work.
bool Walk::define_results(OnnxStep& step, OnnxScope& scope) {
  const OnnxNode& node = step.call.node;
  bool of_sizes = !node.outputs.empty();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool left_out = node.outputs[i].empty();
    step.outputs.push_back(left_out ? "" : scope.define(node.outputs[i]));
    if (left_out) continue;
    const auto& numbers = step.call.outputs[i].numbers;
    of_sizes = of_sizes && numbers && numbers->whole;
    define(step.outputs.back(), step.call.outputs[i]);
  }
  return of_sizes;
}

void Walk::compute(const OnnxNode& node, OnnxScope& scope) try {
  OnnxCall call{node, {}, std::vector<OnnxValue>(node.outputs.size())};
  OnnxStep step{call, {}, {}, node.module};
  for (const std::string& name : node.inputs) {
    step.inputs.push_back(operand(name, scope));
    const std::string& global = step.inputs.back();
    call.inputs.push_back(global.empty() ? nullptr : &values_.at(global));
  }
  infer(call);
  take_told_sizes(node, call);
  const bool of_sizes = define_results(step, scope);
  const auto value = node.attributes.find("value");
  if (node.op == "Constant") {
    if (value != node.attributes.end() && value->second.tensor && !step.outputs.empty()) {
      add_constant(*value->second.tensor, step.outputs[0]);
    }
    return;
  }
  // A loop reads values of the graph around it that are not among its operands.
  const bool has_graph = node.attributes.contains("body") || node.op == "If";
  if (has_graph) step.inputs.push_back(graph_.inputs.front());
  if (!of_sizes && node.op != "Shape" && node.op != "Size") translate(step, graph_);
} catch (const DataError& error) {
  throw DataError(node.label() + ": " + error.what());
}

}  // namespace

Graph onnx_graph(const OnnxModel& model, const OnnxInputs& inputs) {
  return Walk(model, inputs).run();
}

}  // namespace adagp::layers
