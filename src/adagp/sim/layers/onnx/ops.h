#pragma once
// ONNX's operators as those of exported graphs. Torch-free.

#include <string>
#include <vector>

#include "adagp/sim/layers/exported_graph.h"
#include "adagp/sim/layers/onnx/call.h"

namespace adagp::layers {

// A node with the names that its values have in the graph; "" where one is left out.
struct OnnxStep {
  const OnnxCall& call;
  std::vector<std::string> inputs, outputs;
  std::string module;

  std::string input(size_t place) const { return place < inputs.size() ? inputs[place] : ""; }
};

// Appends the operations that the node is. What has no such operation keeps its own name, and the
// table lists it.
void translate(const OnnxStep& step, Graph& graph);

}  // namespace adagp::layers
