#pragma once
// Which examples an epoch has, by the loss each had when it was last seen. No torch here.

#include <cstdint>
#include <functional>
#include <vector>

#include "adagp/base/config/run_config.h"

namespace adagp::plan {

struct SelectionCase {
  // What the losses were when the epoch began; infinite for an example not seen yet.
  const std::vector<float>& losses;
  const std::vector<double>& draws;  // in [0, 1), one for each example
  int64_t epoch = 0, epochs = 1;
};

struct SelectionRule {
  // What the loss of each example counts in this epoch; 0: it is left out.
  std::function<std::vector<float>(const config::RunConfig&, const SelectionCase&)> weights = {};
  bool by_loss = true;  // false: it does not look at the losses, and none need be kept

  explicit operator bool() const { return static_cast<bool>(weights); }
};

// An example is kept with probability (rank / N)^power, rank N being the largest loss: 1/(1 +
// power) of them on average. Nothing is rescaled.
std::vector<float> stored_loss_rule(const config::RunConfig& config, const SelectionCase& now);
// Of the examples whose loss is below the mean, a share is left out, and those that stay count
// 1/(1 - share): the expected gradient is the whole one's (InfoBatch, Qin et al. 2024).
std::vector<float> infobatch_rule(const config::RunConfig& config, const SelectionCase& now);

// The first epoch and the last ones have all examples.
bool takes_all(const config::RunConfig& config, const SelectionCase& now);
// The epochs at which that changes; they may lie beyond the run.
std::vector<int64_t> selection_turns(const config::RunConfig& config, int64_t epochs);
// A pure function of the seed, the epoch and the example.
std::vector<double> selection_draws(uint64_t seed, int64_t epoch, int64_t examples);
// The examples by rising loss, those whose losses agree to 15 bits in their order. Losses are not
// negative.
std::vector<uint32_t> by_loss(const std::vector<float>& losses);

// Examples drawn by weights that the user gives. No torch here.

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
