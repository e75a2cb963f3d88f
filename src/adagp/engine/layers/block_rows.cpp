#include "adagp/engine/layers/block_rows.h"

#include <algorithm>

namespace adagp::layers {
namespace {

int64_t block_of(const std::string& row, const std::vector<models::Block>& blocks, int64_t before) {
  int64_t best = -1;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string& name = blocks[i].name;
    if (row != name && !row.starts_with(name + ".") && !row.starts_with(name + "#")) continue;
    if (best < 0 || name.size() > blocks[static_cast<size_t>(best)].name.size()) {
      best = static_cast<int64_t>(i);
    }
  }
  return best < 0 ? before : best;
}

}  // namespace

std::vector<int64_t> blocks_of_rows(const Table& table, const models::Net& net) {
  std::vector<int64_t> out(table.rows.size(), 0);
  const auto* in_blocks = dynamic_cast<const models::BlockNet*>(&net);
  if (in_blocks == nullptr) return out;
  int64_t block = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = block = block_of(table.rows[i].name, in_blocks->blocks(), block);
  }
  return out;
}

int64_t rows_before(const std::vector<int64_t>& blocks_of_rows, int64_t block) {
  return std::ranges::count_if(blocks_of_rows, [&](int64_t own) { return own < block; });
}

}  // namespace adagp::layers
