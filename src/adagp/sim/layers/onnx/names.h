#pragma once
// What rows are called after: the names of weights, or where an exporter made those up, the path of
// the layer that uses them. Torch-free.

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

// "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1", as torch's older exporter names nodes; "" of
// other names.
std::string module_of(const std::string& node_name);
// "['', 'layer1', 'layer1.0', 'conv2d']" -> "layer1.0", as its newer one says where a node stands:
// the last is the operation's.
std::string innermost_scope(const std::string& scopes);

// Rows are lines: "_" for what breaks them.
std::string one_line(std::string name);

class OnnxNames {
 public:
  // Who uses which value first.
  void look_at(const std::vector<OnnxNode>& nodes);
  // "conv1.weight"; unique.
  std::string of(const std::string& weight);

 private:
  std::map<std::string, std::string> users_;  // weight -> path
  std::set<std::string> taken_;
  std::map<std::string, int> times_;  // that a name was taken already
};

// Which of ONNX's operators are what. Torch-free.

// Of operators whose first operand decides, the name of torch's operation; "" of others.
std::string simple_name(const std::string& op);
// Moves or makes numbers.
bool only_moves(const std::string& op);
// Computes, but multiplies no matrices.
bool has_no_products(const std::string& op);

// Which operands of a product are its weight and its bias.
struct OnnxPlaces {
  size_t weight = 1, bias = 2;
};
OnnxPlaces places_of(const std::string& op);

}  // namespace adagp::layers
