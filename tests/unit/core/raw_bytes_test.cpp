#include "adagp/base/core/foreign_text.h"

#include <gtest/gtest.h>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

std::vector<std::string> texts() {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  return {"",
          "plain/path",
          "gr\xC3\xBC\xC3\x9F",
          "gr\xFC\xDF",
          "\xEE\xBE\x80",
          "\xEE\xBF\xBF\xEE\xBE",
          "\xE2\x82 cut \xF0",
          all};
}

TEST(RawBytes, EveryTextComesBack) {
  for (const std::string& text : texts()) {
    const std::string encoded = bytes_to_utf8(text);
    EXPECT_EQ(broken_utf8(encoded), std::string::npos) << text;
    EXPECT_EQ(utf8_to_bytes(encoded), text);
  }
  EXPECT_EQ(bytes_to_utf8("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(bytes_to_utf8("\xFC"), "\xEE\xBF\xBC");  // U+EFFC
}

// A file name given as a flag, written to config.toml and read from there.
TEST(RawBytes, ConfigurationsKeepFileNamesThatAreNotUtf8) {
  for (const std::string& text : texts()) {
    std::string given, read;
    std::vector<std::string> list{text}, read_list;
    Binding first, second;
    first.bind("dir", &given, "");
    first.bind("list", &list, "");
    second.bind("dir", &read, "");
    second.bind("list", &read_list, "");
    first.set("dir", text, "--dir");
    EXPECT_EQ(given, text);
    second.load_toml(first.to_toml(), "config.toml");
    EXPECT_EQ(read, text) << first.to_toml();
    EXPECT_EQ(read_list, list) << first.to_toml();
    EXPECT_TRUE(first.differences(second).empty());
  }
}

}  // namespace
}  // namespace adagp::core
