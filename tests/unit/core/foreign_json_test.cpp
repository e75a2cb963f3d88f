#include "adagp/base/core/foreign_json.h"

#include <sys/stat.h>

#include <fstream>

#include <gtest/gtest.h>

#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ForeignJson, RefusesWhatWouldOverflowTheStackAndKeepsTheRest) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(try_parse_json(nested(100)));
  EXPECT_FALSE(try_parse_json(nested(101)));
  EXPECT_TRUE(try_parse_json('"' + std::string(300, '[') + "\\\"{\""));  // in a text they are none
  EXPECT_NE(refusal([&] { parse_json(nested(200'000), "a.json"); }).find("a.json: lists"),
            std::string::npos);
  EXPECT_EQ(refusal([] { parse_json("{", "a.json"); }), "a.json: not JSON (is the file cut off?)");
}

TEST(ForeignJson, KeysOfAnotherTypeAreNamed) {
  const auto json = nlohmann::json{{"n", "x"}, {"half", 1.5}, {"list", {1, "a"}}, {"deep", {{1}}}};
  EXPECT_EQ(refusal([&] { json_field<int64_t>(json, "n"); }),
            "key 'n' is \"x\", expected a whole number");
  EXPECT_EQ(refusal([&] { json_field<int64_t>(json, "half"); }),
            "key 'half' is 1.5, expected a whole number");
  EXPECT_EQ(refusal([&] { json_field<bool>(json, "list"); }),
            "key 'list' is a list, expected true or false");
  EXPECT_EQ(refusal([&] { json_field<std::vector<int>>(json, "list"); }),
            "key 'list' is a list, expected a list or an object of other values");
  EXPECT_EQ(refusal([&] { json_field<double>(json, "none"); }), "key 'none' is missing");
  EXPECT_EQ(refusal([&] { json_field<double>(nlohmann::json(3), "none"); }),
            "key 'none' is missing");
  EXPECT_EQ(json_field<double>(json, "half"), 1.5);
}

TEST(ForeignJson, ReadsRegularFilesOfASaneSizeAlone) {
  const testing::TempFolder folder;
  const fs::path file = folder.path() / "a.json";
  std::ofstream(file) << "{\"a\": 1}";
  EXPECT_EQ(read_json(file).at("a"), 1);
  fs::resize_file(file, kMostJsonBytes + 1);
  EXPECT_NE(refusal([&] { read_json(file); }).find("expected at most 64"), std::string::npos);
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { read_json(file); }), file.string() + ": is a pipe, expected a file");
  fs::remove(file);
  fs::create_symlink("/dev/zero", file);
  EXPECT_EQ(refusal([&] { read_json(file); }), file.string() + ": is a device, expected a file");
}

}  // namespace
}  // namespace adagp::core
