#pragma once
// A network cut into stages: which blocks, and whose parameters and buffers.

#include <set>
#include <string>
#include <vector>

#include "adagp/engine/models/model.h"

namespace adagp::layers {

// What one block of a network uses.
struct BlockUse {
  std::string name;
  std::set<std::string> parameters;
  double macs = 0;               // of one example
  models::Tensors outputs = {};  // what leaves it, of one example: shapes alone
};
// By a pass over shapes alone. `input` as in `adagp layers --input`.
std::vector<BlockUse> trace_blocks(models::BlockNet& net, const std::string& model,
                                   const std::string& input);

// Into how many stages the network can be cut: each has products.
int most_stages(const std::vector<BlockUse>& blocks);

struct Stages {
  std::vector<size_t> first;  // first block of each stage; then the number of blocks
  // Parameters and buffers of each stage. A tied weight may be in several.
  std::vector<std::set<std::string>> names;
  std::vector<double> macs;

  size_t count() const { return names.size(); }
};
// Balanced by MACs. Throws UsageError for networks that are no list of blocks or have fewer blocks
// than stages.
Stages cut(models::Net& net, const std::string& model, const std::string& input, int stages);

}  // namespace adagp::layers
