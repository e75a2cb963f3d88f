#include "adagp/sim/scalesim/config.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::scalesim {
namespace {

// Version 2's file: no layout, no sparsity, no Ramulator.
const std::string kVersion2 =
    "[general]\n"
    "run_name = small\n"
    "\n"
    "[architecture_presets]\n"
    "ArrayHeight:    32\n"
    "ArrayWidth:     16\n"
    "IfmapSramSzkB:    64\n"
    "FilterSramSzkB:   32\n"
    "OfmapSramSzkB:    8\n"
    "IfmapOffset:    0\n"
    "FilterOffset:   10000000\n"
    "OfmapOffset:    20000000\n"
    "Dataflow : os\n"
    "Bandwidth : 10, 20\n"
    "\n"
    "[run_presets]\n"
    "InterfaceBandwidth: CALC\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string config_error(const std::string& text) {
  try {
    parse_config(text, "run.cfg");
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScaleSimConfig, ReadsVersion2) {
  const Config config = parse_config(kVersion2, "run.cfg");
  EXPECT_EQ(config.run_name, "small");
  EXPECT_EQ(config.rows, 32);
  EXPECT_EQ(config.columns, 16);
  EXPECT_EQ(config.ifmap_kb, 64);
  EXPECT_EQ(config.filter_kb, 32);
  EXPECT_EQ(config.ofmap_kb, 8);
  EXPECT_EQ(config.dataflow, "os");
  EXPECT_FALSE(config.bandwidths.has_value());
}

TEST(ScaleSimConfig, ReadsVersion3WithWindowsLinesAndByteOrderMark) {
  std::string text = "\xEF\xBB\xBF" + kVersion2 +
                     "UseRamulatorTrace: False\n[sparsity]\nSparsitySupport : false\n[layout]\n"
                     "IfmapCustomLayout: False\n[network_presets]\nTopologyCsvLoc: \"a b.csv\"\n";
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }
  const Config config = parse_config(text, "run.cfg");
  EXPECT_EQ(config.ofmap_kb, 8);
  EXPECT_EQ(config.topology, "a b.csv");
}

TEST(ScaleSimConfig, KeysAreReadWhateverTheirCase) {
  EXPECT_EQ(parse_config(with(kVersion2, "ArrayHeight", "arrayHEIGHT"), "f").rows, 32);
  EXPECT_EQ(parse_config(with(kVersion2, "Dataflow : os", "dataflow = OS"), "f").dataflow, "os");
}

// As SCALE-Sim 3.0.0: the first value of the list for results, the [layout] section for operands.
TEST(ScaleSimConfig, UserBandwidthsOfResultsAndOperands) {
  const std::string text = with(kVersion2, "CALC", "USER");
  const Bandwidths old = *parse_config(text, "run.cfg").bandwidths;
  EXPECT_EQ(old.ofmap, 10);
  EXPECT_EQ(old.ifmap, 10);
  EXPECT_EQ(old.filter, 10);
  const Bandwidths fresh = *parse_config(text +
                                             "[layout]\nIfmapSRAMBankBandwidth : 3\n"
                                             "FilterSRAMBankBandwidth : 5\n",
                                         "run.cfg")
                                .bandwidths;
  EXPECT_EQ(fresh.ofmap, 10);
  EXPECT_EQ(fresh.ifmap, 3);
  EXPECT_EQ(fresh.filter, 5);
}

TEST(ScaleSimConfig, MessagesNamePlaceValueAndRule) {
  EXPECT_EQ(config_error(with(kVersion2, "Dataflow : os", "Dataflow : xs")),
            "run.cfg:13:12: Dataflow is 'xs', expected ws, is or os");
  EXPECT_EQ(config_error(with(kVersion2, "ArrayWidth:     16", "ArrayWidth:     0")),
            "run.cfg:6:17: ArrayWidth is 0, expected at least 1");
  EXPECT_EQ(config_error(with(kVersion2, "ArrayWidth:     16", "ArrayWidth: wide")),
            "run.cfg:6:13: ArrayWidth is 'wide', expected a whole number");
  EXPECT_EQ(config_error(with(kVersion2, "OfmapSramSzkB:    8\n", "")),
            "run.cfg: [architecture_presets] lacks OfmapSramSzkB");
  EXPECT_EQ(config_error(with(kVersion2, "ArrayWidth:     16", "ArrayHeight: 16")),
            "run.cfg:6:1: architecture_presets.arrayheight is set twice; the first is on line 5");
  EXPECT_EQ(config_error(with(kVersion2, "CALC", "MAYBE")),
            "run.cfg:17:21: InterfaceBandwidth is 'MAYBE', expected USER or CALC");
  EXPECT_EQ(config_error(with(kVersion2, "[run_presets]", "[run_preset]")),
            "run.cfg:16:1: unknown section 'run_preset'; did you mean 'run_presets'?");
  EXPECT_EQ(config_error("ArrayHeight : 3\n"),
            "run.cfg:1:1: 'ArrayHeight : 3' stands before the first [section]");
  EXPECT_EQ(config_error(""), "run.cfg: [general] lacks run_name");
}

TEST(ScaleSimConfig, RefusesWhatIsNotModelled) {
  EXPECT_NE(config_error(kVersion2 + "[sparsity]\nSparsitySupport : True\n").find("not modelled"),
            std::string::npos);
  EXPECT_NE(config_error(kVersion2 + "UseRamulatorTrace: True\n").find("not modelled"),
            std::string::npos);
}

TEST(ScaleSimConfig, RunNameIsNoPath) {
  EXPECT_NE(config_error(with(kVersion2, "small", "../../etc")).find("without '/'"),
            std::string::npos);
  EXPECT_NE(config_error(with(kVersion2, "small", "..")).find("run_name"), std::string::npos);
}

}  // namespace
}  // namespace adagp::scalesim
