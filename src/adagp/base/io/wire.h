#pragma once
// As much of protobuf's wire format and TFRecord's framing as event files need.

#include <bit>
#include <cstdint>
#include <cstring>
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

// One field after the other of an encoded message; never reads past its end.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : left_(message) {}

  uint32_t field = 0;
  Wire type = Wire::kVarint;
  uint64_t value = 0;      // of kVarint, and the raw bits of kFixed64 and kFixed32
  std::string_view bytes;  // of kBytes

  bool next() {
    uint64_t key = 0;
    if (left_.empty() || !ok_) return false;
    ok_ = plain(key) && key >> 3 > 0 && key >> 3 < (1u << 29) && payload(key & 7);
    field = static_cast<uint32_t>(key >> 3);
    return ok_;
  }
  bool ok() const { return ok_; }  // false once something did not parse

 private:
  bool payload(uint64_t code) {
    type = static_cast<Wire>(code);
    switch (type) {
      case Wire::kVarint:
        return plain(value);
      case Wire::kFixed64:
        return fixed(8);
      case Wire::kFixed32:
        return fixed(4);
      case Wire::kBytes: {
        uint64_t count = 0;
        if (!plain(count) || count > left_.size()) return false;
        bytes = left_.substr(0, count);
        left_.remove_prefix(count);
        return true;
      }
    }
    return false;
  }
  bool plain(uint64_t& out) {
    out = 0;
    for (uint32_t shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(size_t count) {
    if (left_.size() < count) return false;
    value = 0;
    std::memcpy(&value, left_.data(), count);
    left_.remove_prefix(count);
    return true;
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace adagp::io
