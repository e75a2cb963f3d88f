#include "adagp/pipeline/partition.h"

#include <algorithm>
#include <limits>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

void check_items(const std::vector<Item>& items, int stages, double limit) {
  if (stages < 1 || items.size() < static_cast<size_t>(stages)) {
    throw UsageError(core::cat("partition: ", items.size(), " layers for ", stages,
                               " stages; expected at least a layer per stage"));
  }
  for (const Item& item : items) {
    if (!(item.cost >= 0 && item.cost < kNever && item.bytes >= 0 && item.bytes < kNever)) {
      throw UsageError(core::cat("partition: '", item.name, "' costs ", item.cost, " and has ",
                                 item.bytes, " bytes; expected numbers that are not negative"));
    }
    if (limit > 0 && item.bytes > limit) {
      throw UsageError(core::cat("partition: '", item.name, "' alone needs ",
                                 core::human_bytes(item.bytes), ", over the limit of ",
                                 core::human_bytes(limit), " per stage"));
    }
  }
}

}  // namespace

Partition partition(const std::vector<Item>& items, int stages, double limit) {
  check_items(items, stages, limit);
  const size_t count = items.size(), parts = static_cast<size_t>(stages);
  // best[k][i]: largest cost of the first i items in k stages; from[k][i]: where the last begins.
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(count + 1, kNever));
  std::vector<std::vector<size_t>> from(parts + 1, std::vector<size_t>(count + 1, 0));
  best[0][0] = 0;
  for (size_t k = 1; k <= parts; ++k) {
    for (size_t i = k; i <= count; ++i) {
      double cost = 0, bytes = 0;
      for (size_t j = i; j-- > k - 1;) {
        cost += items[j].cost;
        bytes += items[j].bytes;
        // A longer last stage only gets worse.
        if (cost >= best[k][i] || (limit > 0 && bytes > limit)) break;
        const double largest = std::max(best[k - 1][j], cost);
        if (largest < best[k][i]) {
          best[k][i] = largest;
          from[k][i] = j;
        }
      }
    }
  }
  if (best[parts][count] == kNever) {
    throw UsageError(core::cat("partition: no cut of ", count, " layers into ", stages,
                               " stages keeps ", core::human_bytes(limit),
                               " per stage; use more stages or a higher limit"));
  }
  Partition result;
  result.largest = best[parts][count];
  for (size_t k = parts, end = count; k > 0; --k) {
    const size_t first = from[k][end];
    double cost = 0;
    for (size_t j = first; j < end; ++j) cost += items[j].cost;
    result.first.insert(result.first.begin(), first);
    result.cost.insert(result.cost.begin(), cost);
    end = first;
  }
  return result;
}

}  // namespace adagp::pipeline
