#include "adagp/engine/data/text/parallel_text.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/text/vocabulary.h"

namespace adagp::data {
namespace {

void check_line(const std::string& line, const std::string& where) {
  const size_t bad = find_invalid_utf8(line);
  if (bad != std::string::npos) {
    throw DataError(core::cat(where, ": byte ", bad + 1, " (value ",
                              static_cast<int>(static_cast<unsigned char>(line[bad])),
                              ") is not UTF-8; convert the file, for example with iconv -t UTF-8"));
  }
  if (split_words(line).empty()) {
    throw DataError(where +
                    ": empty line, expected a sentence; remove it together with the same line of "
                    "the other language");
  }
}

}  // namespace

size_t find_invalid_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t length = 1;
    unsigned char low = 0x80, high = 0xbf;  // of the second byte
    if (lead >= 0xc2 && lead <= 0xdf) {
      length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      length = 3;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      length = 4;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else if (lead >= 0x80) {
      return i;
    }
    if (i + length > text.size()) return i;
    for (size_t j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if (next < (j == 1 ? low : 0x80) || next > (j == 1 ? high : 0xbf)) return i;
    }
    i += length;
  }
  return std::string::npos;
}

TextFile parse_text(std::string name, const std::string& bytes) {
  TextFile file{std::move(name), {}};
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    // Not only at the start: files that begin with one may have been joined.
    std::string line(core::without_byte_order_mark(std::string_view(bytes).substr(at, end - at)));
    if (line.ends_with('\r')) line.pop_back();
    check_line(line, core::cat(file.name, ":", file.lines.size() + 1));
    file.lines.push_back(std::move(line));
    at = end + 1;
  }
  return file;
}

void check_parallel(const TextFile& source, const TextFile& target) {
  if (source.lines.size() == target.lines.size() && !source.lines.empty()) return;
  if (source.lines.empty() && target.lines.empty()) {
    throw DataError(source.name + ": no lines, expected a sentence per line");
  }
  const bool source_longer = source.lines.size() > target.lines.size();
  const TextFile& longer = source_longer ? source : target;
  const TextFile& shorter = source_longer ? target : source;
  throw DataError(core::cat(longer.name, ":", shorter.lines.size() + 1, ": no counterpart in ",
                            shorter.name, ": ", longer.lines.size(), " lines and ",
                            shorter.lines.size(),
                            ", expected as many; each line is the translation of the other's"));
}

}  // namespace adagp::data
