#pragma once
// Files of configs/ that are part of the program.

#include <span>
#include <string_view>

namespace adagp::zoo {

struct File {
  std::string_view name;  // without folder and ending
  std::string_view text;
};

std::span<const File> layer_files();        // configs/layers, "<model>-<input>"
std::span<const File> accelerator_files();  // configs/accelerators

}  // namespace adagp::zoo
