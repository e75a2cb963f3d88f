#include "adagp/data/class_names.h"

#include <algorithm>
#include <set>

#include "adagp/core/byte_order_mark.h"
#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::data {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// For messages: what a terminal would obey is shown as '?'.
std::string shown(std::string_view name) {
  std::string out(name);
  const bool text = core::broken_utf8(name) == std::string_view::npos;
  std::replace_if(
      out.begin(), out.end(),
      [&](char c) { return is_control(c) || (!text && static_cast<unsigned char>(c) >= 0x80); },
      '?');
  return "'" + out + "'";
}

}  // namespace

void check_class_names(const std::vector<std::string>& names, const std::string& where) {
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto refuse = [&](const char* what) {
      throw DataError(core::cat(where, ": class ", i, ", ", shown(name), ", ", what));
    };
    if (name.empty()) refuse("has no name");
    if (core::broken_utf8(name) != std::string_view::npos) refuse("is not UTF-8");
    if (std::any_of(name.begin(), name.end(), is_control)) {
      refuse("has control characters in its name");
    }
    if (!seen.insert(name).second) {
      refuse("has the name of another class; names must differ");
    }
  }
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

void check_folder_names(const std::vector<std::string>& names, const std::string& where) {
  constexpr size_t kLongest = 255;  // bytes; of file systems
  check_class_names(names, where);
  for (const auto& name : names) {
    if (is_plain_file_name(name) && name.size() <= kLongest) continue;
    throw DataError(core::cat(where, ": class ", shown(name),
                              " cannot be the name of a folder, expected at most ", kLongest,
                              " bytes without / and \\, and neither . nor ..; rename the class, or "
                              "choose --format packed"));
  }
}

std::vector<std::string> parse_class_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& line : core::split(core::without_byte_order_mark(text), '\n')) {
    if (std::string name = core::trim(line); !name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace adagp::data
