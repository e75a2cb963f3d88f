#include "adagp/engine/data/sets/class_names.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::data {
namespace {

bool is_ascii(unsigned char c) {
  return c >= 0x20 && c < 0x7f;
}

// Of ASCII, and those that UTF-8 writes as C2 80 to C2 9F.
bool has_controls(std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < name.size() && static_cast<unsigned char>(name[i + 1]) < 0xa0) {
      return true;
    }
  }
  return false;
}

// For messages: where a terminal would obey something, only ASCII is shown.
std::string shown(std::string_view name) {
  std::string out(name);
  if (has_controls(name) || core::broken_utf8(name) != std::string_view::npos) {
    std::replace_if(
        out.begin(), out.end(), [](char c) { return !is_ascii(static_cast<unsigned char>(c)); },
        '?');
  }
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
    if (has_controls(name)) refuse("has control characters in its name");
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
