#pragma once
// Protobuf's wire format, read field by field from bytes that stay where they are: nothing is
// copied, and what is not asked for is skipped.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/io/wire.h"

namespace adagp::io {

static_assert(std::endian::native == std::endian::little, "protobuf's numbers are little-endian");

struct WireField {
  uint32_t number = 0;
  Wire type = Wire::kVarint;
  uint64_t value = 0;      // of all types but kBytes
  std::string_view bytes;  // of kBytes

  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
  double number64() const { return std::bit_cast<double>(value); }
};

// Throws DataError where the bytes are no message.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // False at the end of the message.
  bool next(WireField& field) {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field.number = static_cast<uint32_t>(key >> 3);
    if (key >> 32 != 0 || field.number == 0) broken();
    field.type = static_cast<Wire>(key & 7);
    field.bytes = {};
    field.value = 0;
    switch (field.type) {
      case Wire::kVarint:
        field.value = varint();
        break;
      case Wire::kFixed64:
        field.value = fixed<uint64_t>();
        break;
      case Wire::kFixed32:
        field.value = fixed<uint32_t>();
        break;
      case Wire::kBytes:
        field.bytes = take(varint());
        break;
      default:
        broken();  // groups, which nobody writes
    }
    return true;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    broken();
  }
  template <typename T>
  T fixed() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) broken();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  [[noreturn]] static void broken() { throw DataError("its bytes end early or are no protobuf"); }

  std::string_view rest_;
};

// Appends a repeated number: packed, or one of them.
inline void add_integers(const WireField& field, std::vector<int64_t>& numbers, size_t most) {
  WireReader packed(field.bytes);
  if (field.type != Wire::kBytes) numbers.push_back(field.integer());
  while (!packed.empty() && numbers.size() <= most) {
    numbers.push_back(static_cast<int64_t>(packed.varint()));
  }
}

}  // namespace adagp::io
