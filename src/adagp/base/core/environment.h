#pragma once
// Names of the environment variables that set keys.

#include <string>

namespace adagp::core {

// "ADAGP_OPTIM_LR" for "optim.lr".
std::string environment_name(const std::string& key);

}  // namespace adagp::core
