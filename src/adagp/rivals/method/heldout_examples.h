#pragma once
// Which training examples are kept out of training. No torch here.

#include <vector>

#include "adagp/base/plan/selection.h"

namespace adagp::method {

// Weight 0 for held-out examples, 1 for all others.
std::vector<float> all_but_heldout_rule(const config::RunConfig& config,
                                        const plan::SelectionCase& now);
// Numbers of the held-out examples: a pure function of the seed and the data set's size.
std::vector<int64_t> heldout_examples(const config::RunConfig& config, int64_t examples);

}  // namespace adagp::method
