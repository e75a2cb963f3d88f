#pragma once
// Text files by line and field, with the place of each for messages.

#include <cstdint>
#include <string>
#include <vector>

namespace adagp::scalesim {

// Where a value stands: prefixes of messages are "file:line:column: ".
struct Place {
  std::string file;
  int line = 0;
  int column = 0;  // of the first character, from 1

  std::string str() const;
};

struct Line {
  int number = 0;
  std::string text;  // without line end
};

struct Field {
  std::string text;  // without spaces around it
  int column = 0;
};

// A UTF-8 byte order mark and Windows line ends are taken off.
std::vector<Line> lines_of(const std::string& text);

// The fields between commas. One empty field at the end, what a trailing comma leaves, is dropped.
std::vector<Field> fields_of(const Line& line);

// A whole number of at least `least`; throws DataError naming `what`, the value and the rule.
int64_t whole_number(const std::string& text, const std::string& what, int64_t least,
                     const Place& place);

}  // namespace adagp::scalesim
