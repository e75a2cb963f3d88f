#pragma once
// As much of protobuf's wire format and TFRecord's framing as event files and Chakra's traces need.

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "adagp/base/io/crc32c.h"

namespace adagp::io {

enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// TFRecord stores checksums masked, because a crc of data that holds its own crc is weak.
inline uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes.data(), bytes.size()), 15) + 0xa282ead8u;
}

// A message under construction.
class WireWriter {
 public:
  void varint(uint32_t field, uint64_t value) {
    key(field, Wire::kVarint);
    plain(value);
  }
  void number(uint32_t field, double value) {
    key(field, Wire::kFixed64);
    append(value);
  }
  void number(uint32_t field, float value) {
    key(field, Wire::kFixed32);
    append(value);
  }
  void bytes(uint32_t field, std::string_view value) {
    key(field, Wire::kBytes);
    plain(value.size());
    out_.append(value);
  }
  // Of a repeated field of whole numbers; nothing when there are none.
  void packed(uint32_t field, std::span<const uint64_t> values) {
    if (values.empty()) return;
    WireWriter all;
    for (const uint64_t value : values) all.plain(value);
    bytes(field, all.str());
  }
  // A message behind its length, as files with one message after the other have it.
  void delimited(std::string_view message) {
    plain(message.size());
    out_.append(message);
  }
  template <typename T>
  void append(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const std::string& str() const { return out_; }

 private:
  void key(uint32_t field, Wire type) { plain(field << 3 | static_cast<uint32_t>(type)); }
  void plain(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  std::string out_;
};

}  // namespace adagp::io
