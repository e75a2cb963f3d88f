#pragma once
// An epoch laid out before it begins: which examples, in which order, in batches of which size.

#include <cstdint>
#include <vector>

namespace adagp::plan {

struct EpochPlan {
  // One batch: examples begin .. begin + count of the order.
  struct Part {
    int64_t begin = 0, count = 0;
  };
  std::vector<int64_t> order;  // examples, each at most once
  std::vector<Part> batches;   // at least one
};

}  // namespace adagp::plan
