// Any bytes are either a DataError or lines of UTF-8; class names that pass as folders lead nowhere
// else.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/text/parallel_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  const std::string input(reinterpret_cast<const char*>(bytes), count);
  try {
    for (const auto& line : data::parse_text("fuzz", input).lines) {
      if (line.empty() || line.find('\n') != line.npos) std::abort();
      if (data::find_invalid_utf8(line) != line.npos) std::abort();
    }
  } catch (const DataError&) {
  }
  try {
    const auto names = data::parse_class_names(input);
    data::check_folder_names(names, "fuzz");
    const std::filesystem::path folder = "/a/b";
    for (const auto& name : names) {
      if ((folder / name).lexically_normal().parent_path() != folder) std::abort();
    }
  } catch (const DataError&) {
  }
  return 0;
}
