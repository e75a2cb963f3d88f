#pragma once
// What an .onnx file says, as far as shapes go. Weights are jumped over, files beside it are never
// opened. Torch-free.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::layers {

// Numbers of a small tensor: sizes, axes, scales. Sizes are exact as doubles.
struct Numbers {
  std::vector<double> values;
  bool whole = true;  // integers or truth values
};

constexpr int kDeepestGraphs = 32;  // graphs in attributes, functions that call functions
constexpr size_t kLongestText = 1 << 16;
constexpr size_t kMostNumbers = 4096;  // a larger tensor is no size, axis or scale

struct OnnxTensor {
  std::string name;
  std::vector<int64_t> sizes;
  bool learnt = false;  // of a type that weights have
  std::optional<Numbers> numbers;
};

struct OnnxSize {
  std::optional<int64_t> size;
  std::string symbol;  // "batch"; "" when it has none
};

struct OnnxShape {
  std::string name;
  std::optional<std::vector<OnnxSize>> sizes;  // none: not even their number
};

struct OnnxGraph;

struct OnnxAttribute {
  std::string reference;  // the attribute of the function around it that has the value
  std::optional<int64_t> integer;
  double real = 0;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::optional<OnnxTensor> tensor;
  std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
  std::string op;      // "Conv"; outside the standard "com.microsoft.FusedConv"
  std::string name;    // "" when it has none
  std::string module;  // path of the module that it runs in, as far as the exporter says so
  std::vector<std::string> inputs, outputs;  // "": left out
  std::map<std::string, OnnxAttribute> attributes;

  // "Conv 'name'", for messages.
  std::string label() const;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> constants;
  std::vector<OnnxShape> inputs, outputs, shapes;
};

struct OnnxFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxAttribute> defaults;
};

struct OnnxModel {
  OnnxGraph graph;
  std::map<std::string, OnnxFunction> functions;  // by OnnxNode::op
};

// Throws DataError on other bytes, on graphs that lie in each other without end, and on more nodes
// and names than any network has. Calls `jumped` after the numbers of a large tensor.
OnnxModel parse_onnx_model(std::string_view bytes, const std::function<void()>& jumped);

}  // namespace adagp::layers
