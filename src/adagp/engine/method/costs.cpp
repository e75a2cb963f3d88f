#include "adagp/engine/method/costs.h"

#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"

namespace adagp::method {
namespace {

// The block a row belongs to: the one whose name is its own or a prefix of it; rows that match none
// belong to the block of the row before.
int64_t block_of(const std::string& row, const std::vector<std::string>& blocks, int64_t before) {
  int64_t best = -1;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string& name = blocks[i];
    if (row != name && !row.starts_with(name + ".") && !row.starts_with(name + "#")) continue;
    if (best < 0 || name.size() > blocks[static_cast<size_t>(best)].size()) {
      best = static_cast<int64_t>(i);
    }
  }
  return best < 0 ? before : best;
}

}  // namespace

Costs::Costs(models::Net& net, const task::Task& task, const config::RunConfig& config,
             const std::vector<int64_t>& sides) {
  std::vector<std::string> blocks;
  std::vector<bool> run_twice;
  if (const auto* in_blocks = dynamic_cast<const models::BlockNet*>(&net)) {
    for (const auto& block : in_blocks->blocks()) {
      blocks.push_back(block.name);
      run_twice.push_back(block.runs_twice);
    }
  }
  std::vector<int64_t> all{0};
  all.insert(all.end(), sides.begin(), sides.end());
  for (const int64_t side : all) {
    const std::string input = side == 0 ? task.input_name(config) : core::cat(side, "x", side);
    layers::Table table;
    try {
      table = layers::from_model(net, config.model.name, input);
    } catch (const UsageError& error) {
      if (side == 0) throw;
      throw UsageError(core::cat("low-resolution images of ", input, ": ", config.model.name,
                                 " cannot take them: ", error.what()));
    } catch (const std::exception& error) {
      core::log_debug(core::cat("no cost account: ", error.what()));
      products_.clear();
      return;
    }
    int64_t block = 0;
    for (const auto& row : table.rows) {
      block = block_of(row.name, blocks, block);
      const bool again = !run_twice.empty() && run_twice[static_cast<size_t>(block)];
      products_[side].push_back({block, static_cast<double>(row.macs), again, row.frozen != 0});
    }
  }
}

double Costs::forward(int64_t side) const {
  const auto found = products_.find(side);
  if (found == products_.end()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const Product& product : found->second) sum += product.macs;
  return sum;
}

double Costs::forward_of(int64_t first, int64_t last) const {
  const auto found = products_.find(0);
  if (found == products_.end()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const Product& product : found->second) {
    if (product.block >= first && product.block < last) sum += product.macs;
  }
  return sum;
}

double Costs::backward(int64_t side, int64_t first) const {
  return backward_between(side, first, std::numeric_limits<int64_t>::max());
}

double Costs::backward_of(int64_t first, int64_t last) const {
  return backward_between(0, first, last);
}

double Costs::backward_between(int64_t side, int64_t first, int64_t last) const {
  const auto found = products_.find(side);
  if (found == products_.end()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  bool begun = false;
  for (const Product& product : found->second) {
    if (product.frozen || product.block < first || product.block >= last) continue;
    // Nothing asks for the gradient of what the first of them was given.
    sum += begun ? 2 * product.macs : product.macs;
    if (product.again) sum += product.macs;
    begun = true;
  }
  return sum;
}

}  // namespace adagp::method
