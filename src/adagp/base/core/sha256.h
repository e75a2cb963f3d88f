#pragma once
// SHA-256 (FIPS 180-4).

#include <string>
#include <string_view>

namespace adagp::core {

// 32 bytes.
std::string sha256(std::string_view message);

// "00ff" for the bytes 0 and 255.
std::string hex(std::string_view bytes);

}  // namespace adagp::core
