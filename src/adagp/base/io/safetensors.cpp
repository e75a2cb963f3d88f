#include "adagp/base/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "adagp/base/core/lookup.h"
#include "adagp/base/core/message.h"
#include "adagp/base/io/checksum_keys.h"
#include "adagp/base/io/crc32c.h"

namespace adagp::io {
namespace {

using core::cat;
using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr int kMaxDepth = 4;                       // file, tensor, shape, number

[[noreturn]] void reject_file(const std::string& file, const std::string& why) {
  throw DataError(file + ": not a valid safetensors file: " + why);
}

// nlohmann keeps the last of two equal keys in silence, so they are looked for while parsing.
Json parse_header(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open_objects;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) reject_file(file, "its JSON header is nested too deeply");
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key &&
        !open_objects.back().insert(parsed.get<std::string>()).second) {
      reject_file(file, cat("'", parsed.get<std::string>(), "' occurs twice in its header"));
    }
    return true;
  };
  try {
    Json header = Json::parse(text.begin(), text.end(), check);
    if (!header.is_object()) reject_file(file, "its header is JSON but not an object");
    return header;
  } catch (const Json::exception& error) {
    reject_file(file, cat("its header of ", text.size(),
                          " bytes is not JSON: ", core::plain_message(error)));
  }
}

const Json& field(const Json& tensor, const char* key, const std::string& where,
                  const std::string& file) {
  const auto found = tensor.find(key);
  if (found == tensor.end()) reject_file(file, cat(where, ": no '", key, "'"));
  return *found;
}

// The numbers of a JSON array; all must be whole and fit into int64.
std::vector<int64_t> whole_numbers(const Json& array, const std::string& where,
                                   const std::string& file) {
  if (!array.is_array()) reject_file(file, where + ": expected an array of whole numbers");
  std::vector<int64_t> out;
  for (const Json& value : array) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{INT64_MAX}) {
      reject_file(file,
                  cat(where, ": expected whole numbers from 0 to 2^63-1, got ", value.dump()));
    }
    out.push_back(value.get<int64_t>());
  }
  return out;
}

// Bytes of a tensor, or -1 when they do not fit into int64. A zero size does not excuse an overflow
// of the others: whoever multiplies them must be safe.
int64_t bytes_of(const std::vector<int64_t>& shape, size_t element) {
  int64_t product = static_cast<int64_t>(element);
  bool empty = false;
  for (const int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, size, &product)) {
      return -1;
    }
  }
  return empty ? 0 : product;
}

TensorEntry parse_entry(const std::string& name, const Json& value, size_t data_bytes,
                        const std::string& file) {
  const std::string where = "tensor '" + name + "'";
  if (!value.is_object()) reject_file(file, where + ": expected an object");
  TensorEntry out;
  out.name = name;
  const Json& dtype = field(value, "dtype", where, file);
  if (!dtype.is_string()) reject_file(file, where + ": dtype is not a string");
  out.dtype = dtype.get<std::string>();
  size_t element = 0;
  try {
    element = dtype_size(out.dtype);
  } catch (const DataError& error) {
    reject_file(file, where + ": " + error.what());
  }
  out.shape = whole_numbers(field(value, "shape", where, file), where + ": shape", file);
  const auto offsets =
      whole_numbers(field(value, "data_offsets", where, file), where + ": data_offsets", file);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    reject_file(file, where + ": data_offsets must be [begin, end] with begin <= end");
  }
  out.begin = static_cast<size_t>(offsets[0]);
  out.end = static_cast<size_t>(offsets[1]);
  if (out.end > data_bytes) {
    reject_file(file,
                cat(where, " ends at byte ", out.end, " of the data, but the file holds only ",
                    data_bytes, ": it is cut short", kFetchAgain));
  }
  const int64_t expected = bytes_of(out.shape, element);
  if (expected < 0) reject_file(file, where + ": its shape is too large");
  if (static_cast<size_t>(expected) != out.end - out.begin) {
    reject_file(file, cat(where, ": shape and dtype ", out.dtype, " make ", expected,
                          " bytes, data_offsets ", out.end - out.begin));
  }
  return out;
}

// Every byte of the data belongs to exactly one tensor.
void check_contiguous(const std::vector<TensorEntry>& entries, size_t data_bytes,
                      const std::string& file) {
  size_t at = 0;
  for (const auto& entry : entries) {
    if (entry.begin != at) {
      reject_file(file, cat("tensor '", entry.name, "' begins at byte ", entry.begin,
                            " of the data, expected ", at, " (no gap, no overlap)"));
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    reject_file(file,
                cat("its tensors end at byte ", at, " of the data, the file at ", data_bytes));
  }
}

std::map<std::string, std::string> parse_metadata(const Json& value, const std::string& file) {
  if (!value.is_object()) reject_file(file, "__metadata__ is not an object");
  std::map<std::string, std::string> out;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) reject_file(file, "__metadata__ '" + key + "' is not a string");
    out[key] = text.get<std::string>();
  }
  return out;
}

void check_sum(const char* key, const std::string& stored, uint32_t computed,
               const std::string& file) {
  if (stored == checksum_text(computed)) return;
  throw DataError(
      cat(file, ": ", key, " is ", stored, ", the bytes give ", checksum_text(computed),
          ": the file is damaged (or another program rewrote it and kept that key of its "
          "metadata); restore it from a copy"));
}

// Verifies and removes the checksums of write_safetensors. Files of other programs have none.
void verify_checksums(std::string_view header, std::string_view data, const std::string& file,
                      std::map<std::string, std::string>& metadata) {
  const auto of_data = metadata.find(kDataChecksum);
  const auto of_header = metadata.find(kHeaderChecksum);
  if (of_data == metadata.end() && of_header == metadata.end()) return;
  if (of_data == metadata.end() || of_header == metadata.end()) {
    throw DataError(cat(file, ": only one of the checksums ", kDataChecksum, " and ",
                        kHeaderChecksum, " is there: the file is damaged; restore it from a copy"));
  }
  check_sum(kDataChecksum, of_data->second, crc32c(data.data(), data.size()), file);
  std::string blank(header);
  const size_t digits = header_checksum_at(blank);
  if (digits == std::string::npos) reject_file(file, cat(kHeaderChecksum, " is not 8 digits"));
  blank.replace(digits, kChecksumDigits, kChecksumDigits, '0');
  check_sum(kHeaderChecksum, of_header->second, crc32c(blank.data(), blank.size()), file);
  metadata.erase(kDataChecksum);
  metadata.erase(kHeaderChecksum);
}

}  // namespace

size_t dtype_size(const std::string& dtype) {
  static const std::map<std::string, size_t> kSizes{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},     {"I32", 4},
      {"F32", 4},  {"U64", 8}, {"I64", 8}, {"F64", 8},     {"C64", 8},
  };
  return core::find_named<DataError>(kSizes, dtype, "dtype", " is unknown").second;
}

SafeTensors SafeTensors::read(const core::fs::path& path) {
  return parse(core::read_file(path), path.string());
}

SafeTensors SafeTensors::parse(std::string bytes, const std::string& name) {
  if (bytes.size() < kLengthBytes) {
    reject_file(name, cat("it has ", bytes.size(), " bytes, expected at least ", kLengthBytes));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes) {
    reject_file(name, cat("it announces a header of ", header_bytes, " bytes, the limit is ",
                          kMaxHeaderBytes));
  }
  if (header_bytes > bytes.size() - kLengthBytes) {
    reject_file(name, cat("it announces a header of ", header_bytes, " bytes, but only ",
                          bytes.size() - kLengthBytes, " follow: it is cut short", kFetchAgain));
  }
  SafeTensors out;
  out.bytes_ = std::move(bytes);
  out.data_begin_ = kLengthBytes + static_cast<size_t>(header_bytes);
  out.file_name_ = name;
  const std::string_view text =
      std::string_view(out.bytes_).substr(kLengthBytes, static_cast<size_t>(header_bytes));
  if (!text.starts_with('{')) reject_file(name, "its header does not begin with '{'");

  const Json header = parse_header(text, name);
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      out.metadata_ = parse_metadata(value, name);
    } else {
      out.entries_.push_back(parse_entry(key, value, out.data().size(), name));
    }
  }
  std::sort(out.entries_.begin(), out.entries_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_contiguous(out.entries_, out.data().size(), name);
  verify_checksums(text, out.data(), name, out.metadata_);
  return out;
}

const TensorEntry& SafeTensors::entry(const std::string& name) const {
  return core::find_named<DataError>(entries_, name, file_name_ + ": no tensor");
}

}  // namespace adagp::io
