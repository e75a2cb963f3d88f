#include "adagp/sim/pipeline/partition.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

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

// Cuts of the first items of a list into stages, front to back: a stage ends where the next item
// would take it over `most` or over the limit of bytes. No other cut gets further with as many
// stages. Costs are added up in the order of the items, here and in the result.
class FrontToBack {
 public:
  FrontToBack(const std::vector<Item>& items, double limit)
      : items_(items), limit_(limit > 0 ? limit : kNever) {}

  // How many of the first `count` items `stages` stages hold.
  size_t reach(size_t count, size_t stages, double most) const {
    double cost = 0, bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      cost += items_[i].cost;
      bytes += items_[i].bytes;
      if (cost <= most && bytes <= limit_) continue;
      if (stages-- <= 1) return i;
      cost = items_[i].cost;
      bytes = items_[i].bytes;
    }
    return count;
  }

  // The smallest `most` with which `stages` stages hold the first `count` items, up to `enough`,
  // with which they do. Not negative doubles are in the order of their bits, so that halving the
  // bits ends after at most 64 steps, exactly.
  double least(size_t count, size_t stages, double enough) const {
    double largest = 0;  // of a single item: it fits into no less
    for (size_t i = 0; i < count; ++i) largest = std::max(largest, items_[i].cost);
    auto low = std::bit_cast<uint64_t>(largest), high = std::bit_cast<uint64_t>(enough);
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      const bool holds = reach(count, stages, std::bit_cast<double>(middle)) == count;
      (holds ? high : low) = holds ? middle : middle + 1;
    }
    return std::bit_cast<double>(high);
  }

 private:
  const std::vector<Item>& items_;
  double limit_;
};

double cost_of(const std::vector<Item>& items, size_t begin, size_t end) {
  double cost = 0;
  for (size_t i = begin; i < end; ++i) cost += items[i].cost;
  return cost;
}

}  // namespace

Partition partition(const std::vector<Item>& items, int stages, double limit) {
  check_items(items, stages, limit);
  const FrontToBack cuts(items, limit);
  double most = cost_of(items, 0, items.size());
  if (cuts.reach(items.size(), static_cast<size_t>(stages), most) < items.size()) {
    throw UsageError(core::cat("partition: no cut of ", items.size(), " layers into ", stages,
                               " stages keeps ", core::human_bytes(limit),
                               " per stage; use more stages or a higher limit"));
  }
  // From the last stage to the first: the best that is possible for what is left, and the shortest
  // last stage with which it is.
  Partition result;
  size_t end = items.size();
  for (auto left = static_cast<size_t>(stages); left > 0; --left) {
    most = cuts.least(end, left, most);
    const size_t first = left == 1 ? 0 : std::min(end - 1, cuts.reach(end, left - 1, most));
    result.first.push_back(first);
    result.cost.push_back(cost_of(items, first, end));
    end = first;
  }
  std::reverse(result.first.begin(), result.first.end());
  std::reverse(result.cost.begin(), result.cost.end());
  result.largest = *std::max_element(result.cost.begin(), result.cost.end());
  return result;
}

}  // namespace adagp::pipeline
