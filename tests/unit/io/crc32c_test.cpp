#include "adagp/base/io/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace adagp::io {
namespace {

TEST(Crc32c, GivesThePublishedValues) {
  // RFC 3720, section B.4, and the check value of the CRC catalogue.
  std::vector<uint8_t> bytes(32, 0);
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x8a9136aau);
  bytes.assign(32, 0xff);
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x62a8ab43u);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
}

TEST(Crc32c, TablesAndInstructionAgreeAtEveryLengthAndAlignment) {
  std::vector<uint8_t> bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11);
  for (size_t start = 0; start < 8; ++start) {
    for (size_t count = 0; start + count <= bytes.size(); ++count) {
      ASSERT_EQ(crc32c(bytes.data() + start, count), crc32c_by_tables(bytes.data() + start, count));
    }
  }
}

TEST(Crc32c, ContinuesAnEarlierCall) {
  const std::string text = "one record after the other";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = crc32c(text.data(), cut);
    ASSERT_EQ(crc32c(text.data() + cut, text.size() - cut, first),
              crc32c(text.data(), text.size()));
    ASSERT_EQ(crc32c_by_tables(text.data() + cut, text.size() - cut, first),
              crc32c(text.data(), text.size()));
  }
}

}  // namespace
}  // namespace adagp::io
