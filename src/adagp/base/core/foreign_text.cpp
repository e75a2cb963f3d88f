#include "adagp/base/core/foreign_text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

std::string hex(uint32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[value >> shift & 0xF];
  }
  return out;
}

// Of valid UTF-8.
size_t length_of(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  uint32_t point = character.size() == 1 ? lead : lead & (0x7FU >> character.size());
  for (const char c : character.substr(1)) point = point << 6 | (static_cast<uint32_t>(c) & 0x3F);
  return point;
}

bool turns_the_text(uint32_t point) {
  return (point >= 0x200E && point <= 0x200F) || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

std::string visible(std::string_view text, bool one_line) {
  std::string out;
  size_t broken = broken_utf8(text);
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (at == broken) {
      out += "\\x" + hex(byte, 2);
      broken = broken_utf8(text.substr(++at));
      if (broken != std::string_view::npos) broken += at;
      continue;
    }
    const std::string_view character = text.substr(at, length_of(byte));
    const uint32_t point = code_point(character);
    if (byte == '\n' || byte == '\t') {
      out += !one_line ? std::string(character) : byte == '\n' ? "\\n" : "\\t";
    } else if (point < 0x20 || point == 0x7F) {
      out += "\\x" + hex(point, 2);
    } else if ((point >= 0x80 && point <= 0x9F) || turns_the_text(point)) {
      out += "\\u" + hex(point, 4);
    } else {
      out += character;
    }
    at += character.size();
  }
  return out;
}

// After any number of ', so that csv_text() takes away exactly what csv_cell() added.
bool starts_a_formula(std::string_view text) {
  const size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

bool is_number(std::string_view text) {
  double ignored = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number(text, ignored);
}

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

std::string printable(std::string_view text) {
  return visible(text, false);
}

std::string printable_line(std::string_view text) {
  return visible(text, true);
}

std::string csv_cell(std::string_view text) {
  const bool formula = text.size() > 1 && starts_a_formula(text) && !is_number(text);
  const std::string cell = (formula ? "'" : "") + std::string(text);
  if (!formula && cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_text(std::string_view cell) {
  if (cell.starts_with('\'') && starts_a_formula(cell)) cell.remove_prefix(1);
  return std::string(cell);
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string xml_escape(std::string_view text, bool attribute) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += attribute ? "&quot;" : "\"";
        break;
      case '\'':
        out += attribute ? "&#39;" : "'";
        break;
      default:
        out += c;
    }
  }
  return out;
}

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
