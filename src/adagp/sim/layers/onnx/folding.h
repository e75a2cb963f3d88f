#pragma once
// Numbers of small constants: exporters compute the sizes of a reshaping from those of its input,
// node by node. Torch-free.

#include <string>
#include <vector>

#include "adagp/sim/layers/onnx/call.h"

namespace adagp::layers {

// Gives the result of `sizes` its numbers; its first operand has numbers. False when it cannot.
using FoldRule = bool (*)(const OnnxCall& call, const Sizes& sizes, Numbers& out);
// Of operators that only change places; null: another.
FoldRule move_fold(const std::string& op);

// The numbers of an operand, repeated along the axes where it has fewer.
std::vector<double> repeated(const OnnxCall& call, size_t place, const Sizes& sizes);

}  // namespace adagp::layers
