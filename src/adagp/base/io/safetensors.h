#pragma once
// The safetensors format: an 8-byte little-endian header length, a JSON header
// {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {...}}, then the bytes.
// No torch here; io/tensors.h turns entries into at::Tensors.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::io {

// How messages about a file that is cut short end. Not true of files that the program itself wrote.
inline constexpr std::string_view kFetchAgain = "; copy or download it again";

struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "F64", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", ...
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;  // byte range inside data
};

// A parsed file. `data()` views the bytes after the header.
class SafeTensors {
 public:
  // Throws DataError naming the file, what was expected and what was found. The checksums stored by
  // write_safetensors are verified and left out of metadata().
  static SafeTensors read(const core::fs::path& path);
  // The same from memory; `name` is for messages. Never reads outside `bytes` (fuzzed).
  static SafeTensors parse(std::string bytes, const std::string& name);

  const std::vector<TensorEntry>& entries() const { return entries_; }  // in file order
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::string_view data() const { return std::string_view(bytes_).substr(data_begin_); }
  // Throws DataError with the nearest name.
  const TensorEntry& entry(const std::string& name) const;
  const std::string& file_name() const { return file_name_; }

 private:
  std::string bytes_;
  size_t data_begin_ = 0;
  std::string file_name_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

struct TensorBytes {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

// Writes atomically. Entries are ordered by element size, largest first (so that all are aligned),
// then by name: equal content gives equal bytes. With `checksum` the crc32c of data and header go
// into the metadata, and a flipped bit anywhere in the file is found when it is read.
void write_safetensors(const core::fs::path& path, std::vector<TensorBytes> tensors,
                       std::map<std::string, std::string> metadata = {}, bool checksum = true,
                       core::Sync sync = core::Sync::kNow);

size_t dtype_size(const std::string& dtype);  // bytes; throws DataError for an unknown one

}  // namespace adagp::io
