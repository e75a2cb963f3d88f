#pragma once
// The layer table of a network that Python's torch.export.save wrote, read without torch: the
// archive's models/model.json lists the operations with the sizes of every tensor.

#include <string>

#include "adagp/base/core/files.h"
#include "adagp/sim/layers/exported.h"

namespace adagp::layers {

// Throws DataError naming the file when it is not such an archive, and what exported_table()
// throws.
Exported read_pt2(const core::fs::path& path, int64_t batch = 0);
// The same of models/model.json; `file_name` is for messages, `model` names the table.
Exported parse_pt2(const std::string& json, const std::string& model, const std::string& file_name,
                   int64_t batch = 0);

}  // namespace adagp::layers
