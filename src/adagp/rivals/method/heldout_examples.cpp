#include "adagp/rivals/method/heldout_examples.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/held_out.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {

std::vector<int64_t> heldout_examples(const config::RunConfig& config, int64_t examples) {
  if (config.parts.get<rivals::AutoOptions>().heldout >= examples) {
    throw UsageError(core::cat("auto.heldout: ", config.parts.get<rivals::AutoOptions>().heldout,
                               ", expected 1 to ", examples - 1, ": the data set has ", examples,
                               " training examples"));
  }
  return plan::draw_held_out(config.seed, examples,
                             config.parts.get<rivals::AutoOptions>().heldout);
}

std::vector<float> all_but_heldout_rule(const config::RunConfig& config,
                                        const plan::SelectionCase& now) {
  const auto examples = static_cast<int64_t>(now.losses.size());
  return plan::all_but(heldout_examples(config, examples)).weights(config, now);
}

}  // namespace adagp::method
