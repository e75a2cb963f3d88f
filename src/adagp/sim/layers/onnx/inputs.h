#pragma once
// The inputs of an ONNX graph, with a size along every axis. Torch-free.

#include <map>
#include <string>
#include <vector>

#include "adagp/sim/layers/onnx.h"
#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

struct OnnxInput {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<bool> free;  // of each size: not fixed by the file
};

// Constants are no inputs. `symbols` gets the sizes of the names that the file uses for free ones.
// Throws UsageError where sizes are missing or others than the file's.
std::vector<OnnxInput> fixed_inputs(const OnnxGraph& graph, const OnnxInputs& wanted,
                                    std::map<std::string, int64_t>& symbols);

}  // namespace adagp::layers
