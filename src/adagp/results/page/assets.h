#pragma once
// Files of page/assets that are part of the program.

#include <span>
#include <string_view>

namespace adagp::page {

struct File {
  std::string_view name;  // without folder and ending
  std::string_view text;
};

std::span<const File> scripts();
std::span<const File> style_sheets();

}  // namespace adagp::page
