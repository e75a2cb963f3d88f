#pragma once
// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104): to prove that a secret is known without saying
// it.

#include <cstddef>
#include <string>
#include <string_view>

namespace adagp::core {

inline constexpr size_t kDigestBytes = 32;

// Both return kDigestBytes bytes.
std::string sha256(std::string_view message);
std::string hmac_sha256(std::string_view key, std::string_view message);

// Compares without telling by its time where two texts of equal length differ.
bool equal_secrets(std::string_view a, std::string_view b);

// From the kernel's source of random numbers, fit for secrets. Throws Error where there is none.
std::string random_bytes(size_t count);

// "00ff" for the bytes 0 and 255.
std::string hex(std::string_view bytes);

}  // namespace adagp::core
