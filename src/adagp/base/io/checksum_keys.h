#pragma once
// The two checksums that safetensors files of ours carry in their metadata: one of the data, one of
// the header with its own eight digits read as zeros. Each key vouches for the other's presence.

#include <cstdint>
#include <string>

namespace adagp::io {

inline constexpr const char* kDataChecksum = "adagp.crc32c";
inline constexpr const char* kHeaderChecksum = "adagp.crc32c.header";
inline constexpr size_t kChecksumDigits = 8;

// Eight hexadecimal digits.
inline std::string checksum_text(uint32_t crc) {
  std::string out(kChecksumDigits, '0');
  for (size_t i = kChecksumDigits; i-- > 0; crc >>= 4) out[i] = "0123456789abcdef"[crc & 0xf];
  return out;
}

// Where the digits of the header's checksum begin in its JSON text, or npos. Inside a JSON string
// the quotes would be escaped, so the first match is the key itself.
inline size_t header_checksum_at(const std::string& json) {
  const std::string before = std::string("\"") + kHeaderChecksum + "\":\"";
  const size_t key = json.find(before);
  if (key == std::string::npos) return std::string::npos;
  const size_t digits = key + before.size();
  return digits + kChecksumDigits < json.size() ? digits : std::string::npos;
}

}  // namespace adagp::io
