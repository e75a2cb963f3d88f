#pragma once
// Text in two languages, line by line. No torch here.

#include <cstdint>
#include <string>
#include <vector>

namespace adagp::data {

struct TextFile {
  std::string name;  // for messages
  std::vector<std::string> lines;
};
// One sentence of UTF-8 per line; byte order marks where a line begins (of files that were joined),
// carriage returns and the last line's missing end are forgiven. Throws DataError with the line for
// other bytes and for a line without a word.
TextFile parse_text(std::string name, const std::string& bytes);
// Throws DataError when the files are not of the same number of lines, or have none.
void check_parallel(const TextFile& source, const TextFile& target);

// The offset of the first byte that is not UTF-8, or npos. Overlong forms and surrogates are not.
size_t find_invalid_utf8(const std::string& text);

}  // namespace adagp::data
