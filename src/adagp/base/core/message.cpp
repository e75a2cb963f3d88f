#include "adagp/base/core/message.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>

#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

// Where LibTorch's traces begin: of checks, of its allocator, of captured ones.
constexpr const char* kTraces[] = {"\nException raised from", "\nframe #0", "\nC++ CapturedTrace"};

std::string without_trace(std::string text) {
  for (const char* begin : kTraces) text.resize(std::min(text.size(), text.find(begin)));
  return trim(text);
}

// nlohmann::json begins with names of its own: "[json.exception.parse_error.101] parse error at".
std::string without_json_names(std::string text) {
  static const std::string kBegin = "[json.exception.";
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin)) {
    const size_t end = text.find("] ", at);
    if (end == std::string::npos) break;
    text.erase(at, end + 2 - at);
  }
  return text;
}

}  // namespace

std::optional<double> failed_allocation(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return 0.0;
  const std::string text = error.what();
  if (text.find("std::bad_alloc") != std::string::npos) return 0.0;
  if (text.find("DefaultCPUAllocator") == std::string::npos) return {};
  static const std::string kBefore = "you tried to allocate ";
  const size_t found = text.find(kBefore);
  double bytes = 0;
  if (found != std::string::npos) {
    const size_t begin = found + kBefore.size();
    parse_number(text.substr(begin, text.find_first_not_of("0123456789", begin) - begin), bytes);
  }
  return bytes;
}

std::string plain_message(const std::exception& error) {
  if (const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return cat(of_file->path1().string(), ": ", of_file->code().message());
  }
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again) {
    return cat("no thread can be started: ", of_system->code().message(),
               "; ask for fewer threads (threads, augment.workers), or raise the system's limit "
               "(ulimit -u, ulimit -v)");
  }
  const auto bytes = failed_allocation(error);
  if (!bytes) return without_json_names(without_trace(error.what()));
  return cat("out of memory", *bytes > 0 ? ": " + human_bytes(*bytes) + " more were asked for" : "",
             "; use a smaller --batch, --set eval_batch=N or data.limit=N, or a smaller network");
}

}  // namespace adagp::core
