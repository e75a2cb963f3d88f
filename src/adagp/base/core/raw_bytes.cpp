#include "adagp/base/core/raw_bytes.h"

#include <algorithm>

#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

// U+EF80 to U+EFFF are the three bytes EE, BE or BF, 80 to BF.
bool stands_for_byte(std::string_view text, size_t at) {
  return at + 2 < text.size() && text[at] == '\xEE' &&
         (text[at + 1] == '\xBE' || text[at + 1] == '\xBF');
}

std::string character_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return {'\xEE', static_cast<char>(byte < 0xC0 ? 0xBE : 0xBF),
          static_cast<char>(0x80 | (byte & 0x3F))};
}

}  // namespace

std::string bytes_to_utf8(std::string_view bytes) {
  std::string out;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t sound = std::min(broken_utf8(bytes.substr(at)), bytes.size() - at);
    for (const size_t end = at + sound; at < end;) {
      if (!stands_for_byte(bytes, at)) {
        out += bytes[at++];
        continue;
      }
      for (int i = 0; i < 3; ++i) out += character_of(bytes[at++]);
    }
    if (at < bytes.size()) out += character_of(bytes[at++]);
  }
  return out;
}

std::string utf8_to_bytes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!stands_for_byte(text, at)) {
      out += text[at++];
      continue;
    }
    const int high = text[at + 1] == '\xBE' ? 0x80 : 0xC0;
    out += static_cast<char>(high | (static_cast<unsigned char>(text[at + 2]) & 0x3F));
    at += 3;
  }
  return out;
}

}  // namespace adagp::core
