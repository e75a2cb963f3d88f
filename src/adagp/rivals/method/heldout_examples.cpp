#include "adagp/rivals/method/heldout_examples.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {

std::vector<int64_t> heldout_examples(const config::RunConfig& config, int64_t examples) {
  if (config.parts.get<rivals::AutoOptions>().heldout >= examples) {
    throw UsageError(core::cat("auto.heldout: ", config.parts.get<rivals::AutoOptions>().heldout,
                               ", expected 1 to ", examples - 1, ": the data set has ", examples,
                               " training examples"));
  }
  constexpr uint64_t kPurpose = 0x68656c646f7574ULL;
  auto order =
      core::permutation(examples, core::mix({static_cast<uint64_t>(config.seed), kPurpose}));
  order.resize(static_cast<size_t>(config.parts.get<rivals::AutoOptions>().heldout));
  return order;
}

std::vector<float> all_but_heldout_rule(const config::RunConfig& config,
                                        const plan::SelectionCase& now) {
  std::vector<float> weights(now.losses.size(), 1.0F);
  for (const int64_t i : heldout_examples(config, static_cast<int64_t>(weights.size()))) {
    weights[static_cast<size_t>(i)] = 0;
  }
  return weights;
}

}  // namespace adagp::method
