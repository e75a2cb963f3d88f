#pragma once
// Messages for people, on stderr. Data goes to stdout and is printed by the commands.

#include <string>

namespace adagp::core {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(LogLevel level);
bool log_wants(LogLevel level);
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);

// Whether stderr is a terminal that takes a progress bar, and whether it takes colour (NO_COLOR).
bool stderr_is_terminal();
bool colour_wanted();

}  // namespace adagp::core
