#pragma once
// Looking at runs again and again.

#include <string>
#include <vector>

namespace adagp::apps {

// Sleeps; Ctrl-C and SIGTERM end it with Interrupted and this message.
void wait_or_stop(double seconds, const std::string& message);

// Prints a table of the runs in these folders that are not finished; in a terminal every so many
// seconds until all are, unless it is to be printed once.
int watch_runs(const std::vector<std::string>& folders, bool once, int every);

}  // namespace adagp::apps
