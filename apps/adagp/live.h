#pragma once
// What commands share that look at runs again and again.

#include <string>

namespace adagp::apps {

// Sleeps; Ctrl-C and SIGTERM end it with Interrupted and this message.
void wait_or_stop(double seconds, const std::string& message);

}  // namespace adagp::apps
