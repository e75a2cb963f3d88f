#include "adagp/base/core/log.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

// Not spdlog.h, which also compiles registries and thread pools.
#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/output.h"

namespace adagp::core {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    const auto mode = colour_wanted() ? spdlog::color_mode::automatic : spdlog::color_mode::never;
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(mode);
    auto made = std::make_shared<spdlog::logger>("adagp", std::move(sink));
    made->set_pattern("%^%L%$ %v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

// What was printed before must stand before it where both go to one file, and in whole lines. Only
// the first line begins with a level: none that came from a file can pass for a message of ours.
std::string prepared(const std::string& message) {
  try_flush_stdout();
  std::string out;
  for (const char c : printable(message))
    out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

}  // namespace

void set_log_level(LogLevel level) {
  using spdlog::level::level_enum;
  static constexpr level_enum kLevels[] = {level_enum::debug, level_enum::info, level_enum::warn,
                                           level_enum::err, level_enum::off};
  logger().set_level(kLevels[static_cast<int>(level)]);
}

bool log_wants(LogLevel level) {
  // The two enumerations have the same order.
  return static_cast<int>(level) >= static_cast<int>(logger().level()) - SPDLOG_LEVEL_DEBUG;
}

void log_debug(const std::string& message) {
  if (log_wants(LogLevel::kDebug)) logger().debug(prepared(message));
}
void log_info(const std::string& message) {
  if (log_wants(LogLevel::kInfo)) logger().info(prepared(message));
}
void log_warning(const std::string& message) {
  if (log_wants(LogLevel::kWarning)) logger().warn(prepared(message));
}
void log_error(const std::string& message) {
  if (log_wants(LogLevel::kError)) logger().error(prepared(message));
}

bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) != 0;
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return stderr_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace adagp::core
