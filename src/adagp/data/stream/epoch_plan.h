#pragma once
// An epoch laid out before it begins: which examples, in which order, in batches of which size.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace adagp::data {

struct EpochPlan {
  // One batch: examples begin .. begin + count of the order.
  struct Part {
    int64_t begin = 0, count = 0;
  };
  std::vector<int64_t> order;  // examples, each at most once
  std::vector<Part> batches;   // at least one
};

// Answers the same for an epoch as long as that epoch lasts. It is asked when the epoch begins and
// not before: what it answers may depend on the epoch before.
using Planner = std::function<std::shared_ptr<const EpochPlan>(int64_t epoch)>;

}  // namespace adagp::data
