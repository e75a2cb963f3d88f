#pragma once
// Editors of some systems begin UTF-8 files with a byte order mark; it is no part of the text.

#include <string_view>

namespace adagp::core {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The text behind its byte order mark, if it has one.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace adagp::core
