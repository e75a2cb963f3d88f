#pragma once
// One line of `adagp doctor`. No torch here.

#include <string>
#include <vector>

namespace adagp::doctor {

enum class Health { kOk, kWarn, kFail };  // fail: training is not possible
std::string health_name(Health health);   // "ok", "warn", "FAIL"

struct Check {
  std::string name;
  Health health;
  std::string value;
  std::string advice;  // what is lost and how to get it; empty when ok
};

bool training_possible(const std::vector<Check>& checks);

}  // namespace adagp::doctor
