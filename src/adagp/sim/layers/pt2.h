#pragma once
// The layer table of a network that Python's torch.export.save wrote, read without torch: the
// archive's models/model.json lists the operations with the sizes of every tensor.

#include <string>

#include "adagp/base/core/files.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

struct Exported {
  Table table;             // products and vector operations, and what has no row
  int64_t parameters = 0;  // numbers in all parameters
  int64_t batch = 1;       // examples in the exported input
  std::string note;        // which size was taken for the batch, in a sentence
};

// `batch`: examples in the exported input; 0: the first size of its first tensor, or 1 where that
// has no batch dimension. A network exported with a dynamic batch takes any. Throws DataError
// naming the file when it is not such an archive or when its first size is not the batch,
// UsageError when `batch` is not the export's.
Exported read_pt2(const core::fs::path& path, int64_t batch = 0);
// The same of models/model.json; `file_name` is for messages, `model` names the table.
Exported parse_pt2(const std::string& json, const std::string& model, const std::string& file_name,
                   int64_t batch = 0);

}  // namespace adagp::layers
