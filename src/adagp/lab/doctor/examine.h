#pragma once
// What this build can do on this machine, and what to do about what it cannot.

#include <string>
#include <vector>

#include "adagp/lab/doctor/check.h"

namespace adagp::doctor {

// Small forward and backward passes on the CPU and every GPU included. `version`: of adagp.
std::vector<Check> examine(const std::string& version);

}  // namespace adagp::doctor
