#pragma once
// What several runs of one process would say again and again.

#include <string>

namespace adagp::core {

// A warning, unless this process has given the same one before.
void warn_once(const std::string& message);

}  // namespace adagp::core
