#pragma once
// The layer table of an exported network, from the graph that its file has. Torch-free.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

struct Graph;

struct Exported {
  Table table;             // products and vector operations, and what has no row
  int64_t parameters = 0;  // numbers in all parameters
  int64_t batch = 1;       // examples in the exported input
  std::string note;        // which size was taken for the batch, in a sentence
};

// `batch`: examples in the exported input; 0: the first size of its first tensor, or 1 where that
// has no batch dimension. A network exported with a dynamic batch takes any. `flag` of the program
// names such files ("--pt2"). Throws DataError when the first size is not the batch, UsageError
// when `batch` is not the export's.
Exported exported_table(const Graph& graph, const std::string& model, int64_t batch,
                        const std::string& flag);

// "2x3x8", of a single number "1".
std::string sizes_text(const std::vector<int64_t>& sizes);

}  // namespace adagp::layers
