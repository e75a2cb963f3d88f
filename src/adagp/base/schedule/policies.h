#pragma once
// The policies behind make_policy(): functions of the step, and plateau. No torch here.

#include <memory>
#include <string>

#include "adagp/base/schedule/policy.h"

namespace adagp::schedule {

// The run a policy is made for.
struct Horizon {
  double base;        // base learning rate
  int64_t total;      // batches in all
  int64_t per_epoch;  // batches in an epoch

  // `text` ("30ep", "500ba") in batches. Throws UsageError naming the key.
  int64_t batches(const std::string& key, const std::string& text) const;
};

std::unique_ptr<Policy> make_constant(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_step(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_multi_step(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_cosine(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_one_cycle(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_triangle(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_inverse_sqrt(const PolicyConfig& config, const Horizon& run);
std::unique_ptr<Policy> make_plateau(const PolicyConfig& config, const Horizon& run);

// min(1, (step + 1) / warmup).
double warmup_share(int64_t step, int64_t warmup);
// Throws UsageError naming key and value unless `fine`.
void check_policy_option(const char* key, double value, bool fine, const char* expected);

}  // namespace adagp::schedule
