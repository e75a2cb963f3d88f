#include "adagp/base/schedule/policy.h"

#include <algorithm>
#include <utility>

#include "adagp/base/core/duration.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

using PolicyMaker = std::unique_ptr<Policy> (*)(const PolicyConfig&, const Horizon&);

const std::vector<std::pair<std::string, PolicyMaker>>& policy_table() {
  static const std::vector<std::pair<std::string, PolicyMaker>> table{
      {"constant", make_constant},         {"step", make_step},
      {"multi-step", make_multi_step},     {"cosine", make_cosine},
      {"one-cycle", make_one_cycle},       {"triangle", make_triangle},
      {"inverse-sqrt", make_inverse_sqrt}, {"plateau", make_plateau},
  };
  return table;
}

}  // namespace

void Policy::load_state(const std::vector<double>& state) {
  if (!state.empty()) {
    throw DataError(core::cat("learning-rate policy: ", state.size(),
                              " saved numbers, expected 0: they belong to another policy"));
  }
}

int64_t Horizon::batches(const std::string& key, const std::string& text) const {
  try {
    return core::Duration::parse(text).batches(per_epoch);
  } catch (const UsageError& error) {
    throw UsageError("learning-rate policy: " + key + ": " + error.what());
  }
}

double warmup_share(int64_t step, int64_t warmup) {
  if (step + 1 >= warmup) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(warmup);
}

void check_policy_option(const char* key, double value, bool fine, const char* expected) {
  if (fine) return;
  throw UsageError(core::cat("learning-rate policy: ", key, " = ", core::shortest(value),
                             ": expected ", expected));
}

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names = core::names_of(policy_table());
  return names;
}

std::unique_ptr<Policy> make_policy(const PolicyConfig& config, double base_lr, int64_t total,
                                    int64_t per_epoch) {
  check_policy_option("base rate", base_lr, base_lr >= 0, "0 or more");
  const Horizon run{base_lr, std::max<int64_t>(1, total), std::max<int64_t>(1, per_epoch)};
  return core::find_named(policy_table(), config.name, "learning-rate policy", " is unknown")
      .second(config, run);
}

}  // namespace adagp::schedule
