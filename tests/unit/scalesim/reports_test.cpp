// Against the reports that SCALE-Sim 3.0.0 wrote for the same files
// (tests/golden/scalesim_reports.py).

#include "adagp/scalesim/reports.h"

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/core/error.h"
#include "adagp/core/files.h"
#include "adagp/core/text.h"

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
  EXPECT_EQ(a.titles, b.titles) << where;
  ASSERT_EQ(a.rows.size(), b.rows.size()) << where;
  for (size_t r = 0; r < a.rows.size(); ++r) {
    ASSERT_EQ(a.rows[r].size(), b.rows[r].size()) << where;
    for (size_t c = 0; c < a.rows[r].size(); ++c) {
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
                                           "gemm-ws", "gemm-os"));

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
  config.bandwidths = {1};
  const LayerReport slow = report_layer(config, wide);
  EXPECT_FALSE(slow.exact);
  // 4096 words of IFMAP, filter and OFMAP each, one word per cycle, beside 8*8*(64+8+8-2)-1 cycles.
  EXPECT_EQ(slow.total_cycles, std::max(4096, 8 * 8 * 78 - 1));
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
