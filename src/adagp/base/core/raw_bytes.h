#pragma once
// Any bytes as UTF-8 and back. File names need not be UTF-8, texts in TOML must be.

#include <string>
#include <string_view>

namespace adagp::core {

// A byte b that is not part of UTF-8 becomes the private character U+EF00 + b, which is U+EF80 to
// U+EFFF; those characters themselves are taken for such bytes, so that every text comes back.
std::string bytes_to_utf8(std::string_view bytes);
std::string utf8_to_bytes(std::string_view text);

}  // namespace adagp::core
