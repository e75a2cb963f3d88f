#pragma once
// One JSON object per line, appended while a run goes on.

#include <cstdint>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"

namespace adagp::io {

class JsonlWriter {
 public:
  // Opens for appending; a last line without its newline (a killed process) is dropped first, and
  // so is every line whose "step" is greater than `keep_until_step` (a resumed run writes them
  // again). Lines are buffered: flush() before a checkpoint that a resumed run may start from.
  JsonlWriter(const core::fs::path& path, int64_t keep_until_step);
  ~JsonlWriter();
  JsonlWriter(const JsonlWriter&) = delete;
  JsonlWriter& operator=(const JsonlWriter&) = delete;

  void write(const nlohmann::json& record);
  void flush();

 private:
  std::FILE* file_ = nullptr;
  core::fs::path path_;
};

}  // namespace adagp::io
