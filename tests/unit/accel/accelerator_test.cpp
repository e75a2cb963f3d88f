// Accelerator files: presets, keys, and what is wrong with a wrong one.
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/sim/accel/accelerator.h"
#include "unit/accel/expect.h"

namespace adagp::accel {
namespace {

using test::expect_has;

Accelerator preset(const std::string& name) {
  const std::string path =
      std::string(ADAGP_SOURCE_DIR) + "/configs/accelerators/" + name + ".toml";
  return parse_accelerator(core::read_file(path), path);
}

TEST(Accelerator, PresetsAreWhatTheirNamesSay) {
  const Accelerator paper = preset("adagp-180");
  EXPECT_EQ(paper.array.pes(), 180);
  EXPECT_EQ(paper.second_array().pes(), 80);  // 246 - 166 DSPs
  // 2407 - 1327 RAMB36, "1.24 M words of 32 bits".
  EXPECT_EQ(paper.predictor_memory_bytes * 8, (2407 - 1327) * 36 * 1024);
  EXPECT_NEAR(static_cast<double>(paper.predictor_memory_bytes) / 4, 1.24e6, 0.005e6);
  Accelerator defaults, copy = paper;
  copy.about = "";
  EXPECT_EQ(bind(defaults).to_toml(), bind(copy).to_toml());  // the file says what the default is

  const Accelerator eyeriss = preset("eyeriss");
  EXPECT_EQ(eyeriss.array.pes(), 168);
  EXPECT_EQ(eyeriss.dataflow, "rs");
  EXPECT_EQ(eyeriss.buffer_bytes, 108 * 1024);
  EXPECT_DOUBLE_EQ(eyeriss.energy.dram_pj_per_bit * 16, 460);
  EXPECT_EQ(preset("scalesim-32").array.pes(), 1024);
  EXPECT_EQ(preset("tpu-128").array.pes(), 16384);
  for (const char* name : {"adagp-180", "eyeriss", "rtl-180", "scalesim-32", "tpu-128"}) {
    EXPECT_EQ(preset(name).name, name);
    EXPECT_FALSE(preset(name).about.empty());
  }
}

TEST(Accelerator, AFileWithoutANameIsCalledAfterItself) {
  EXPECT_EQ(parse_accelerator("", "some/folder/mine.toml").name, "mine");
  EXPECT_EQ(parse_accelerator("name = \"own\"", "mine.toml").name, "own");
}

TEST(Accelerator, TheSecondArrayIsTwoThirdsOfTheFirstUnlessItIsSet) {
  Accelerator a;
  const auto second = [&] { return std::pair{a.second_array().rows, a.second_array().columns}; };
  EXPECT_EQ(second(), std::pair(int64_t{8}, int64_t{10}));
  a.array.rows = a.array.columns = 128;
  EXPECT_EQ(second(), std::pair(int64_t{85}, int64_t{85}));
  a.array.rows = a.array.columns = 1;
  EXPECT_EQ(second(), std::pair(int64_t{1}, int64_t{1}));
  bind(a).set("predictor.columns=7");
  EXPECT_EQ(second(), std::pair(int64_t{1}, int64_t{7}));
  a.array.columns = 900;
  EXPECT_EQ(second(), std::pair(int64_t{1}, int64_t{7}));
}

TEST(Accelerator, EveryKeyIsDocumentedWithItsDefault) {
  const std::string page = core::read_file(ADAGP_SOURCE_DIR "/docs/accelerators.md");
  Accelerator defaults;
  defaults.name = "";
  const core::Binding keys = bind(defaults);
  size_t rows = 0;
  for (size_t at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, keys.fields().size()) << "docs/accelerators.md has keys that do not exist";
  for (const auto& field : keys.fields()) {
    const std::string row = "| `" + field.key + "` | `" + core::Binding::value_text(field) +
                            "` | " + field.about + " |";
    EXPECT_NE(page.find(row), std::string::npos) << "docs/accelerators.md lacks: " << row;
  }
}

TEST(Accelerator, WindowsLineEndsAndByteOrderMark) {
  const Accelerator a =
      parse_accelerator("\xEF\xBB\xBFname = \"x\"\r\n[array]\r\nrows = 4\r\ncolumns = 9\r\n", "f");
  EXPECT_EQ(a.array.rows, 4);
  EXPECT_EQ(a.array.columns, 9);
}

std::string refused(const std::string& text) {
  try {
    parse_accelerator(text, "my.toml");
  } catch (const UsageError& e) {
    return e.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Accelerator, WrongFilesNameLineKeyAndRule) {
  expect_has(refused("[array]\nrow = 4\n"), "my.toml:2:");
  expect_has(refused("[array]\nrow = 4\n"), "array.rows");
  expect_has(refused("[array]\nrow = 4\n"), "docs/accelerators.md");
  expect_has(refused("[array]\nrows = 0\n"), "my.toml:2:");
  expect_has(refused("[array]\nrows = \"many\"\n"), "my.toml:2:");
  expect_has(refused("dataflow = \"wss\"\n"), "ws");
  expect_has(refused("[array\nrows = 4\n"), "my.toml:1:");
  refused("[energy]\nmac_pj = -1\n");
  refused("[array]\nrows = 9223372036854775807\n");
  refused("word_bytes = 0\n");
  refused("clock_mhz = nan\n");
}

TEST(Accelerator, CheckRefusesWhatNoFileWasReadFor) {
  Accelerator a;
  check(a);
  a.array.rows = 0;
  EXPECT_THROW(check(a), UsageError);
  a = {};
  a.dataflow = "none";
  EXPECT_THROW(check(a), UsageError);
}

}  // namespace
}  // namespace adagp::accel
