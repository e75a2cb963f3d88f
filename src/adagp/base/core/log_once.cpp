#include "adagp/base/core/log_once.h"

#include <mutex>
#include <set>

#include "adagp/base/core/log.h"

namespace adagp::core {

void warn_once(const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(message).second) log_warning(message);
}

}  // namespace adagp::core
