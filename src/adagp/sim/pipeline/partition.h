#pragma once
// A network's items (layers or blocks) cut into contiguous stages.

#include <cstddef>
#include <string>
#include <vector>

namespace adagp::pipeline {

struct Item {
  std::string name;
  double cost = 0;   // what is to be balanced, not negative
  double bytes = 0;  // of memory, against the limit
};

struct Partition {
  std::vector<size_t> first;  // item of each stage
  std::vector<double> cost;   // per stage
  double largest = 0;
};

// The cut with the smallest largest stage cost, exact. Of several the one with the shortest last
// stage, and so on for the stages before it. Every stage has an item, and none has more than
// `limit` bytes (0: no limit). The time grows with stages x items, the memory with the stages.
// Throws UsageError with the numbers when there are fewer items than stages or no cut keeps the
// limit.
Partition partition(const std::vector<Item>& items, int stages, double limit = 0);

}  // namespace adagp::pipeline
