#pragma once
// Text that came from a file or the command line (names of layers, classes, models), before it goes
// to a terminal, into a table that a spreadsheet opens, or into XML.

#include <string>
#include <string_view>

namespace adagp::core {

// Control characters, C1 controls, marks that turn the writing direction and bytes that are not
// UTF-8 become visible: "\x1b", "\u009b". Line ends and tabs stay.
std::string printable(std::string_view text);
// Also line ends and tabs ("\n", "\t"): for a cell of a table or a line that must stay one.
std::string printable_line(std::string_view text);

// A cell of a CSV file: quoted where RFC 4180 wants it. Text that a spreadsheet would take for a
// formula (it starts with = + - @ and is no number) gets a ' in front.
std::string csv_cell(std::string_view text);
// What csv_cell() was given, from an unquoted cell: drops that '.
std::string csv_text(std::string_view cell);

// A word of a command line, quoted where a shell wants it.
std::string shell_word(const std::string& word);

// & < > as XML wants them; in an attribute also " and '.
std::string xml_escape(std::string_view text, bool attribute = false);

// Any bytes as UTF-8 and back. File names need not be UTF-8, texts in TOML must be.

// A byte b that is not part of UTF-8 becomes the private character U+EF00 + b, which is U+EF80 to
// U+EFFF; those characters themselves are taken for such bytes, so that every text comes back.
std::string bytes_to_utf8(std::string_view bytes);
std::string utf8_to_bytes(std::string_view text);

// Editors of some systems begin UTF-8 files with a byte order mark; it is no part of the text.

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The text behind its byte order mark, if it has one.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace adagp::core
