#pragma once
// An epoch laid out before it begins: which examples, in which order, in batches of which size.

#include <cstdint>
#include <vector>

namespace adagp::plan {

struct EpochPlan {
  // One batch: examples begin .. begin + count of the order.
  struct Part {
    int64_t begin = 0, count = 0;
    // What one of several processes has of it: shares side by side, as equal as can be.
    Part share(int64_t process, int64_t processes) const {
      const int64_t first = count * process / processes;
      return {begin + first, count * (process + 1) / processes - first};
    }
  };
  std::vector<int64_t> order;  // examples, each at most once
  std::vector<Part> batches;   // at least one
};

}  // namespace adagp::plan
