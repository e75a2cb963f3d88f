#include <algorithm>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/checksum_keys.h"
#include "adagp/base/io/crc32c.h"
#include "adagp/base/io/safetensors.h"

namespace adagp::io {
namespace {

// A caller's mistake, not the data's: shape and bytes must agree before anything is written.
void check_entry(const TensorBytes& tensor, const std::string& file) {
  const std::string where = file + ": tensor '" + tensor.name + "'";
  if (tensor.name == "__metadata__") throw Error(where + ": this name is reserved by the format");
  size_t expected = dtype_size(tensor.dtype);
  for (const int64_t size : tensor.shape) {
    if (size < 0) throw Error(core::cat(where, ": negative size ", size));
    expected *= static_cast<size_t>(size);
  }
  if (expected != tensor.bytes.size()) {
    throw Error(core::cat(where, ": ", tensor.bytes.size(), " bytes given, shape and dtype ",
                          tensor.dtype, " make ", expected));
  }
}

std::string header_text(const nlohmann::json& header, const std::string& file) {
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {
    throw Error(file + ": a name or the metadata is not UTF-8: " + core::plain_message(error));
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const core::fs::path& path, std::vector<TensorBytes> tensors,
                       std::map<std::string, std::string> metadata, bool checksum,
                       core::Sync sync) {
  const std::string file = path.string();
  for (const auto& tensor : tensors) check_entry(tensor, file);
  std::sort(tensors.begin(), tensors.end(), [](const TensorBytes& a, const TensorBytes& b) {
    const size_t size_a = dtype_size(a.dtype), size_b = dtype_size(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });

  nlohmann::json header = nlohmann::json::object();
  size_t at = 0;
  uint32_t crc = 0;
  for (const auto& tensor : tensors) {
    if (header.contains(tensor.name))
      throw Error(file + ": two tensors named '" + tensor.name + "'");
    const size_t end = at + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    if (checksum) crc = crc32c(tensor.bytes.data(), tensor.bytes.size(), crc);
    at = end;
  }
  metadata.erase(kDataChecksum);
  metadata.erase(kHeaderChecksum);
  if (checksum) {
    metadata[kDataChecksum] = checksum_text(crc);
    metadata[kHeaderChecksum] = checksum_text(0);
  }
  if (!metadata.empty()) header["__metadata__"] = metadata;

  std::string text = header_text(header, file);
  if (checksum) {
    text.replace(header_checksum_at(text), kChecksumDigits,
                 checksum_text(crc32c(text.data(), text.size())));
  }
  const uint64_t header_bytes = text.size();
  core::AtomicFile out(path);
  out.write(&header_bytes, sizeof header_bytes);
  out.write(text);
  for (const auto& tensor : tensors) out.write(tensor.bytes);
  out.commit(sync);
}

}  // namespace adagp::io
