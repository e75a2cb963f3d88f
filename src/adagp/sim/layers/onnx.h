#pragma once
// The layer table of a network in an .onnx file. Weights are jumped over, and files beside it are
// never opened: shapes are enough.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adagp/base/core/files.h"
#include "adagp/sim/layers/exported.h"

namespace adagp::layers {

struct OnnxInputs {
  // Examples in the input: of a file with a free batch (else 1), or as exported_table() takes it.
  int64_t batch = 0;
  // Sizes of inputs, with or without the batch in front: by name, or of the next one where the name
  // is "". Needed for sizes that the file leaves free.
  std::vector<std::pair<std::string, std::vector<int64_t>>> sizes;
};

// "3x224x224,7": sizes of the inputs of one example, in their order. Throws UsageError.
std::vector<std::pair<std::string, std::vector<int64_t>>> parse_onnx_sizes(const std::string& text);

// Throws DataError naming the file and what is wrong with it, UsageError for sizes that do not fit
// to the file's, and what exported_table() throws.
Exported read_onnx(const core::fs::path& path, const OnnxInputs& inputs = {});
// The same of the file's bytes; `file_name` is for messages, `model` names the table.
Exported parse_onnx(std::string_view bytes, const std::string& model, const std::string& file_name,
                    const OnnxInputs& inputs = {});

}  // namespace adagp::layers
