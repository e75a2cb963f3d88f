#pragma once
// Names of classes come from files of other people and end up in tables, files and paths. No torch
// here.

#include <string>
#include <string_view>
#include <vector>

namespace adagp::data {

// Throws DataError for a name that is empty, not UTF-8, has control characters, or occurs twice;
// `where` begins the message.
void check_class_names(const std::vector<std::string>& names, const std::string& where);

// Throws DataError unless each can be the name of a folder inside of the folder it is put into.
void check_folder_names(const std::vector<std::string>& names, const std::string& where);

// Whether a name read from a file stands for a file or folder right here: no separator, not "..".
bool is_plain_file_name(std::string_view name);

// One name a line; a byte order mark, blank lines and spaces around names are forgiven.
std::vector<std::string> parse_class_names(std::string_view text);

}  // namespace adagp::data
