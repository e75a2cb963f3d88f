#pragma once
// Examples drawn by weights that the user gives. No torch here.

#include <cstdint>
#include <vector>

namespace adagp::plan {

struct WeightedDraw {
  int64_t examples = 0;  // to draw in an epoch
  bool replace = true;   // false: each at most once
};

// The examples of an epoch, in a random order: each draw takes an example with a probability
// proportional to its weight, without replacement among those that are left. A pure function of its
// arguments. Throws UsageError, naming the place, for weights that are negative or not finite, and
// where fewer examples have a weight than are drawn without replacement.
std::vector<int64_t> weighted_examples(const std::vector<double>& weights, const WeightedDraw& draw,
                                       uint64_t seed, int64_t epoch);

}  // namespace adagp::plan
