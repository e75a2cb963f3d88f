#include "adagp/engine/method/costs.h"

#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::method {
Costs::Costs(models::Net& net, const task::Task& task, const config::RunConfig& config,
             const std::vector<int64_t>& sides) {
  const auto* in_blocks = dynamic_cast<const models::BlockNet*>(&net);
  std::vector<int64_t> all{0};
  all.insert(all.end(), sides.begin(), sides.end());
  for (const int64_t side : all) {
    const std::string input = side == 0 ? task.input_name(config) : core::cat(side, "x", side);
    layers::BlockTable all_rows;
    try {
      all_rows = layers::block_table(net, config.model.name, input);
    } catch (const UsageError& error) {
      if (side == 0) throw;
      throw UsageError(core::cat("low-resolution images of ", input, ": ", config.model.name,
                                 " cannot take them: ", error.what()));
    } catch (const std::exception& error) {
      core::log_debug(core::cat("no cost account: ", error.what()));
      products_.clear();
      tables_.clear();
      return;
    }
    const std::vector<int64_t>& blocks = all_rows.blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const layers::Row& row = all_rows.table.rows[i];
      if (!layers::is_product(row)) continue;
      const bool again =
          in_blocks != nullptr && in_blocks->blocks()[static_cast<size_t>(blocks[i])].runs_twice;
      products_[side].push_back({blocks[i], static_cast<double>(row.macs), again, row.frozen != 0});
    }
    if (side == 0) blocks_of_rows_ = blocks;
    tables_[side] = std::move(all_rows.table);
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
