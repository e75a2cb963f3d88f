// Against the reports that SCALE-Sim 3.0.0 wrote for the same files
// (tests/golden/scalesim_reports.py).

#include "adagp/sim/scalesim/reports.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"

namespace adagp::scalesim {
namespace {

const std::string kFixtures = ADAGP_SOURCE_DIR "/tests/golden/fixtures/scalesim/";

struct Report {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

Report read_report(const std::string& text) {
  Report report;
  for (const std::string& line : core::split(text, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string> cells;
    for (const std::string& cell : core::split(line, ',')) cells.push_back(core::trim(cell));
    report.titles.empty() ? report.titles = cells : report.rows.emplace_back(cells);
  }
  return report;
}

std::vector<LayerReport> simulate(const std::string& folder) {
  const auto kind =
      folder.find("gemm") == std::string::npos ? TopologyKind::kConv : TopologyKind::kGemm;
  const Config config = parse_config(core::read_file(folder + "/run.cfg"), "run.cfg");
  const Topology topology =
      parse_topology(core::read_file(folder + "/topology.csv"), "topology.csv", kind);
  std::vector<LayerReport> layers;
  for (const Layer& layer : topology.layers) layers.push_back(report_layer(config, layer));
  return layers;
}

// SCALE-Sim averages its percentages over folds, we divide once: the last digits differ.
constexpr double kRounding = 1e-12;

void expect_equal(const std::string& ours, const std::string& theirs, const std::string& where) {
  const Report a = read_report(ours), b = read_report(theirs);
  if (a.titles != b.titles) {  // ours has a note in mode USER, before the comma at the end
    auto titles = b.titles;
    titles.insert(titles.end() - 1, "Note");
    EXPECT_EQ(a.titles, titles) << where;
  }
  ASSERT_EQ(a.rows.size(), b.rows.size()) << where;
  for (size_t r = 0; r < a.rows.size(); ++r) {
    ASSERT_EQ(a.rows[r].size(), a.titles.size()) << where;
    for (size_t c = 0; c + 1 < b.rows[r].size(); ++c) {
      const std::string &left = a.rows[r][c], &right = b.rows[r][c];
      if (left == right) continue;
      double x = 0, y = 0;
      EXPECT_TRUE(core::parse_number(left, x) && core::parse_number(right, y));
      EXPECT_NE(right.find('.'), std::string::npos) << "a whole number must be equal";
      EXPECT_NEAR(x, y, kRounding * std::fabs(y))
          << where << ", layer " << r << ", " << a.titles[c];
    }
  }
}

class Reports : public ::testing::TestWithParam<const char*> {};

TEST_P(Reports, AreWhatScaleSimWrites) {
  const std::string folder = kFixtures + GetParam();
  const auto layers = simulate(folder);
  for (const LayerReport& layer : layers) EXPECT_TRUE(layer.exact);
  expect_equal(compute_report(layers), core::read_file(folder + "/COMPUTE_REPORT.csv"), "compute");
  expect_equal(bandwidth_report(layers), core::read_file(folder + "/BANDWIDTH_REPORT.csv"),
               "bandwidth");
  expect_equal(detailed_access_report(layers),
               core::read_file(folder + "/DETAILED_ACCESS_REPORT.csv"), "access");
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Reports,
                         ::testing::Values("ws", "is", "os", "ws-small", "is-drain", "os-drain",
                                           "gemm-ws", "gemm-os", "user-is", "user-os"));

// SCALE-Sim starts the last drains at the end of the computation, also where one is still under
// way: the interface then moves twice what it can. Ours wait; everything else is equal.
TEST(ScaleSimReports, TheLastDrainsWaitForTheOneBefore) {
  for (const char* name : {"user-ws", "user-gemm"}) {
    const std::string folder = kFixtures + name;
    auto layers = simulate(folder);
    const Report theirs = read_report(core::read_file(folder + "/DETAILED_ACCESS_REPORT.csv"));
    const size_t stop_column = theirs.titles.size() - 3;
    ASSERT_EQ(theirs.titles[stop_column], "DRAM OFMAP Stop Cycle");
    size_t waited = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].exact) continue;
      ++waited;
      EXPECT_NE(layers[i].note.find("wait for the drain before"), std::string::npos);
      double stop = 0;
      ASSERT_TRUE(core::parse_number(theirs.rows[i][stop_column], stop));
      const int64_t later = layers[i].dram_ofmap.stop - static_cast<int64_t>(stop);
      EXPECT_GT(later, 0);
      layers[i].dram_ofmap.stop -= later;
      layers[i].total_with_prefetch -= later;
    }
    EXPECT_GT(waited, 0u) << name;
    expect_equal(compute_report(layers), core::read_file(folder + "/COMPUTE_REPORT.csv"), name);
    expect_equal(bandwidth_report(layers), core::read_file(folder + "/BANDWIDTH_REPORT.csv"), name);
    expect_equal(detailed_access_report(layers),
                 core::read_file(folder + "/DETAILED_ACCESS_REPORT.csv"), name);
  }
}

// What is promised even there: everything but the last IFMAP read.
TEST(ScaleSimReports, RoundedUpOutputsHaveTheSameCyclesAndWords) {
  for (const char* name : {"rounded-ws", "rounded-os"}) {
    const std::string folder = kFixtures + name;
    auto layers = simulate(folder);
    const Report theirs = read_report(core::read_file(folder + "/DETAILED_ACCESS_REPORT.csv"));
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_FALSE(layers[i].exact);
      double stop = 0;
      ASSERT_EQ(theirs.titles[2], "SRAM IFMAP Stop Cycle");
      ASSERT_TRUE(core::parse_number(theirs.rows[i][2], stop));
      EXPECT_LE(stop, static_cast<double>(layers[i].sram_ifmap.stop));
      layers[i].sram_ifmap.stop = static_cast<int64_t>(stop);
    }
    expect_equal(compute_report(layers), core::read_file(folder + "/COMPUTE_REPORT.csv"), name);
    expect_equal(detailed_access_report(layers),
                 core::read_file(folder + "/DETAILED_ACCESS_REPORT.csv"), name);
  }
}

TEST(ScaleSimReports, SayWhereTheyEstimate) {
  Config config;
  config.rows = config.columns = 8;
  config.dataflow = "os";
  config.filter_kb = 1;
  const Layer wide{"wide", 8, 8, 1, 1, 64, 64, 1};
  EXPECT_FALSE(report_layer(config, wide).exact);
  config.filter_kb = 64;
  EXPECT_TRUE(report_layer(config, wide).exact);
}

// 64 pixels of 64 channels, 64 filters; 8x8, os: 8*8 folds of 64 + 8 + 8 - 2 = 78 cycles.
constexpr int64_t kCompute = 8 * 8 * 78 - 1;
Config slow_config() {
  Config config;
  config.rows = config.columns = 8;
  config.dataflow = "os";
  config.ifmap_kb = config.filter_kb = config.ofmap_kb = 64;
  config.bandwidths = Bandwidths{1, 1, 1};
  return config;
}
const Layer kWide{"wide", 8, 8, 1, 1, 64, 64, 1};

double share_of(const Traffic& traffic, int64_t bandwidth) {
  return static_cast<double>(traffic.words) /
         static_cast<double>(bandwidth * (traffic.stop - traffic.start + 1));
}

TEST(ScaleSimUserMode, WhatFitsIsThereBeforeAndResultsLeaveAfter) {
  const LayerReport report = report_layer(slow_config(), kWide);
  EXPECT_TRUE(report.exact);
  EXPECT_EQ(report.note, "equal to SCALE-Sim 3.0.0");
  EXPECT_EQ(report.stall_cycles, 0);
  EXPECT_EQ(report.total_cycles, kCompute);
  EXPECT_EQ(report.dram_ifmap.start, -4096);
  EXPECT_EQ(report.dram_ifmap.stop, -1);
  EXPECT_EQ(report.dram_ofmap.start, kCompute);
  EXPECT_EQ(report.dram_ofmap.stop, kCompute + 4095);
  EXPECT_EQ(report.total_with_prefetch, kCompute + 4095 + 4096);
}

TEST(ScaleSimUserMode, AnOperandThatDoesNotFitPassesAtItsBandwidth) {
  Config config = slow_config();
  config.ifmap_kb = 4;  // half of it before, and all 64 x 64 words for each of 8 columns of folds
  const LayerReport report = report_layer(config, kWide);
  EXPECT_FALSE(report.exact);
  EXPECT_NE(report.note.find("IFMAP exceeds half its buffer"), std::string::npos) << report.note;
  EXPECT_EQ(report.dram_ifmap.words, 8 * 4096);
  EXPECT_EQ(report.total_cycles, 8 * 4096 - 2048);
  EXPECT_EQ(report.stall_cycles, report.total_cycles - kCompute);
  EXPECT_NEAR(report.overall_util, 100.0 * 64 * 64 * 64 / (64.0 * (8 * 4096 - 2048)), 1e-9);
}

// No interface moves more than it can, and the percentages are those of the whole time.
TEST(ScaleSimUserMode, TheColumnsAgreeWithEachOther) {
  for (const char* dataflow : {"ws", "is", "os"}) {
    for (const int64_t kb : {1, 2, 4, 64}) {
      for (const int64_t bandwidth : {1, 3, 100}) {
        Config config = slow_config();
        config.dataflow = dataflow;
        config.ifmap_kb = config.filter_kb = config.ofmap_kb = kb;
        config.bandwidths = Bandwidths{bandwidth, bandwidth, bandwidth};
        const LayerReport report = report_layer(config, kWide);
        const std::string where = core::cat(dataflow, " ", kb, " kB, bandwidth ", bandwidth);
        EXPECT_LE(share_of(report.dram_ifmap, bandwidth), 1) << where;
        EXPECT_LE(share_of(report.dram_filter, bandwidth), 1) << where;
        // SCALE-Sim starts a drain in the last cycle of the one before: a line too many for each.
        const double drain = static_cast<double>(kb) * 512 / static_cast<double>(bandwidth);
        EXPECT_LE(share_of(report.dram_ofmap, bandwidth), drain > 1 ? drain / (drain - 1) : 8.0)
            << where;
        EXPECT_NEAR(report.overall_util,
                    100.0 * 64 * 64 * 64 / (64.0 * static_cast<double>(report.total_cycles)), 1e-9)
            << where;
        EXPECT_FALSE(report.note.empty()) << where;
        EXPECT_GE(report.total_with_prefetch, report.total_cycles) << where;
      }
    }
  }
}

TEST(ScaleSimReports, OverflowIsAnErrorWithTheLayersName) {
  Config config;
  config.rows = config.columns = 1;
  const Layer huge{"huge", int64_t{1} << 31, int64_t{1} << 29, 1, 1, 1, 1, 1};
  try {
    report_layer(config, {"huge", huge.ifmap_h, huge.ifmap_w, 1, 1, 1 << 20, 1 << 20, 1});
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("huge"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adagp::scalesim
