#pragma once
// Which images of a data set are used. No torch here.

#include <cstdint>
#include <vector>

namespace adagp::data {

// At most `limit` indices (0 = all), ascending: the first images of every class, as evenly as the
// classes allow.
std::vector<int64_t> spread_over_classes(const std::vector<int64_t>& labels, int64_t limit);

}  // namespace adagp::data
