#pragma once
// Training examples that are kept out of training, to measure a loss on. No torch here.

#include <cstdint>
#include <vector>

#include "adagp/base/plan/epoch_plan.h"
#include "adagp/base/plan/selection.h"

namespace adagp::plan {

// `count` of `examples` examples: a pure function of the seed and these numbers.
std::vector<int64_t> draw_held_out(int64_t seed, int64_t examples, int64_t count);

// Those of policy.watch = held-out: a twentieth of the examples, at least one batch. Throws
// UsageError where no whole batch is left to train on.
std::vector<int64_t> watched_examples(const config::RunConfig& config, int64_t examples);

// Held-out examples have weight 0; the others have what `rule` says, which is shown them alone, or
// 1 each without a rule.
SelectionRule all_but(std::vector<int64_t> held_out, SelectionRule rule = {});

// These examples in their order, in batches of at most so many.
EpochPlan in_batches(std::vector<int64_t> examples, int64_t batch);

}  // namespace adagp::plan
