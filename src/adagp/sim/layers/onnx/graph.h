#pragma once
// The graph of an ONNX file with the sizes of its values. Torch-free.

#include "adagp/sim/layers/exported_graph.h"
#include "adagp/sim/layers/onnx.h"
#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

Graph onnx_graph(const OnnxModel& model, const OnnxInputs& inputs);

}  // namespace adagp::layers
