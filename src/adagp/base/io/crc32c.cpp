#include "adagp/base/io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace adagp::io {
namespace {

constexpr uint32_t kCastagnoli = 0x82f63b78;  // bits reversed

// kCrcTables[k][b]: the effect of byte b followed by k zero bytes.
constexpr auto kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    tables[0][b] = crc;
  }
  for (uint32_t b = 0; b < 256; ++b) {
    for (size_t k = 1; k < 8; ++k) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

#if defined(__x86_64__)
bool have_crc_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) uint32_t crc_by_instruction(const unsigned char* at, size_t count,
                                                              uint32_t previous) {
  uint64_t crc = ~previous;
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto low = static_cast<uint32_t>(crc);
  for (; count > 0; ++at, --count) low = _mm_crc32_u8(low, *at);
  return ~low;
}
#elif defined(__aarch64__)
bool have_crc_instruction() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

// Clang 14 declares the intrinsics only where every function may use them.
#if defined(__clang__)
#define ADAGP_CRC_TARGET __attribute__((target("crc")))
#define ADAGP_CRC_WORD __builtin_arm_crc32cd
#define ADAGP_CRC_BYTE __builtin_arm_crc32cb
#else
#define ADAGP_CRC_TARGET __attribute__((target("+crc")))
#define ADAGP_CRC_WORD __crc32cd
#define ADAGP_CRC_BYTE __crc32cb
#endif

ADAGP_CRC_TARGET uint32_t crc_by_instruction(const unsigned char* at, size_t count,
                                             uint32_t previous) {
  uint32_t crc = ~previous;
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = ADAGP_CRC_WORD(crc, word);
  }
  for (; count > 0; ++at, --count) crc = ADAGP_CRC_BYTE(crc, *at);
  return ~crc;
}
#endif

}  // namespace

uint32_t crc32c_by_tables(const void* bytes, size_t count, uint32_t previous) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  const auto& t = kCrcTables;
  uint32_t crc = ~previous;
  for (; count >= 8; at += 8, count -= 8) {
    uint32_t low, high;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = t[7][low & 0xff] ^ t[6][(low >> 8) & 0xff] ^ t[5][(low >> 16) & 0xff] ^ t[4][low >> 24] ^
          t[3][high & 0xff] ^ t[2][(high >> 8) & 0xff] ^ t[1][(high >> 16) & 0xff] ^
          t[0][high >> 24];
  }
  for (; count > 0; ++at, --count) crc = (crc >> 8) ^ t[0][(crc ^ *at) & 0xff];
  return ~crc;
}

uint32_t crc32c(const void* bytes, size_t count, uint32_t previous) {
#if defined(__x86_64__) || defined(__aarch64__)
  static const bool instruction = have_crc_instruction();
  if (instruction) {
    return crc_by_instruction(static_cast<const unsigned char*>(bytes), count, previous);
  }
#endif
  return crc32c_by_tables(bytes, count, previous);
}

}  // namespace adagp::io
