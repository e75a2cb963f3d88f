#pragma once
// The bytes of a file without reading all of it: what is not looked at takes neither time nor
// memory. Files up to 64 MiB are read whole. A larger one must not be cut meanwhile: a look at what
// is gone ends the process (SIGBUS).

#include <string>
#include <string_view>

#include "adagp/base/core/files.h"

namespace adagp::io {

class MappedFile {
 public:
  // Throws DataError naming the file. A pipe is read to its end.
  explicit MappedFile(const core::fs::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }
  // Gives back the memory of what was looked at; the bytes stay valid. A look at one of them can
  // cost two MB, as pages of a file come in groups.
  void release() const;

 private:
  std::string read_;  // of what is not mapped
  void* mapping_ = nullptr;
  std::string_view bytes_;
};

}  // namespace adagp::io
