#pragma once
// Which training examples are kept out of training. No torch here.

#include <vector>

#include "adagp/plan/selection.h"

namespace adagp::plan {

// All examples but those held out.
std::vector<float> all_but_heldout_rule(const config::RunConfig& config, const SelectionCase& now);
// Their numbers: a pure function of the seed and the data set's size.
std::vector<int64_t> heldout_examples(const config::RunConfig& config, int64_t examples);

}  // namespace adagp::plan
