#include "adagp/engine/data/sets/select.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace adagp::data {

std::vector<int64_t> spread_over_classes(const std::vector<int64_t>& labels, int64_t limit) {
  const auto count = static_cast<int64_t>(labels.size());
  std::vector<int64_t> picked(labels.size());
  std::iota(picked.begin(), picked.end(), int64_t{0});
  if (limit <= 0 || limit >= count) return picked;

  // Sorting by (how many of its class came before, label) takes one image of each class in turn.
  std::map<int64_t, int64_t> seen;
  std::vector<int64_t> rank(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) rank[i] = seen[labels[i]]++;
  std::stable_sort(picked.begin(), picked.end(), [&](int64_t a, int64_t b) {
    return std::pair(rank[a], labels[a]) < std::pair(rank[b], labels[b]);
  });
  picked.resize(static_cast<size_t>(limit));
  std::sort(picked.begin(), picked.end());
  return picked;
}

}  // namespace adagp::data
