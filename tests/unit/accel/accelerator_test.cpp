// Accelerator files: presets, keys, and what is wrong with a wrong one.
#include <gtest/gtest.h>

#include "adagp/accel/accelerator.h"
#include "adagp/core/error.h"
#include "adagp/core/files.h"
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
  EXPECT_EQ(paper.predictor_array.pes(), 80);  // 246 - 166 DSPs
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
  for (const char* name : {"adagp-180", "eyeriss", "scalesim-32", "tpu-128"}) {
    EXPECT_EQ(preset(name).name, name);
    EXPECT_FALSE(preset(name).about.empty());
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
