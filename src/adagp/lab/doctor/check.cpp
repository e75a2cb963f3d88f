// No torch here.

#include "adagp/lab/doctor/check.h"

namespace adagp::doctor {

std::string health_name(Health health) {
  return health == Health::kOk ? "ok" : health == Health::kWarn ? "warn" : "FAIL";
}

bool training_possible(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    if (check.health == Health::kFail) return false;
  }
  return true;
}

}  // namespace adagp::doctor
