// Do the closed forms say what SCALE-Sim, nn_dataflow, CACTI and the Eyeriss chip said?
#include <gtest/gtest.h>

#include "adagp/base/core/files.h"
#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/memory.h"
#include "adagp/sim/accel/row_stationary.h"
#include "adagp/sim/accel/scalesim.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

using test::golden;
using test::real;
using test::whole;

Array array_of(const std::map<std::string, std::string>& row) {
  Array array;
  array.rows = whole(row, "array_h");
  array.columns = whole(row, "array_w");
  return array;
}

TEST(ScaleSimGolden, EveryPrintedRow) {
  const auto rows = golden("scalesim.csv");
  ASSERT_EQ(rows.size(), 162U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("dataflow") + " " + row.at("array_h") + " " + row.at("layer"));
    layers::Row layer;
    layer.name = row.at("layer");
    layer.op = "conv2d";
    layer.input = {whole(row, "channels"), whole(row, "ifmap_h"), whole(row, "ifmap_w")};
    layer.kernel = {whole(row, "filter_h"), whole(row, "filter_w")};
    layer.stride = {whole(row, "stride"), whole(row, "stride")};
    layer.output[0] = whole(row, "num_filters");
    for (size_t i = 0; i < 2; ++i) {
      layer.output[i + 1] =
          output_size(SizeRule::kScaleSim, layer.input[i + 1], layer.kernel[i], layer.stride[i], 0);
    }
    const Array array = array_of(row);
    const Dataflow& dataflow = find_dataflow(row.at("dataflow"));
    const Work work = forward_work(layer, 1, SizeRule::kScaleSim);
    const ScaleSimReport report = scalesim_report(work, dataflow, array);

    EXPECT_EQ(report.compute_cycles, whole(row, "compute_cycles"));
    EXPECT_EQ(dataflow.cost(work, array).cycles, whole(row, "demand_lines"));
    // The printed percentages have six decimals; 1e-4 is the promise.
    EXPECT_NEAR(report.overall_util, real(row, "utilization"), 1e-4);
    EXPECT_NEAR(report.mapping_efficiency, real(row, "mapping_efficiency"), 1e-4);
    EXPECT_NEAR(report.compute_util, real(row, "compute_util"), 1e-4);
    EXPECT_EQ(report.sram.ifmap, whole(row, "sram_ifmap_reads"));
    EXPECT_EQ(report.sram.filter, whole(row, "sram_filter_reads"));
    EXPECT_EQ(report.sram.ofmap, whole(row, "sram_ofmap_writes"));
  }
}

TEST(ScaleSimGolden, OutputSizesDifferOnlyWhereStepsDoNotDivide) {
  EXPECT_EQ(output_size(SizeRule::kScaleSim, 224, 7, 2, 0), 110);  // ceil(217/2) + 1
  EXPECT_EQ(output_size(SizeRule::kFloor, 224, 7, 2, 0), 109);
  EXPECT_EQ(output_size(SizeRule::kFloor, 224, 7, 2, 3), 112);
  EXPECT_EQ(output_size(SizeRule::kScaleSim, 34, 3, 1, 0), 32);
}

Conv conv_of(const std::map<std::string, std::string>& row) {
  Conv conv;
  conv.batch = whole(row, "batch");
  conv.channels = whole(row, "C");
  conv.filters = whole(row, "M");
  conv.out_h = whole(row, "E");
  conv.out_w = whole(row, "F");
  conv.filter_h = whole(row, "R");
  conv.filter_w = whole(row, "S");
  return conv;
}

// The same layer as a product, for the dataflow's interface.
Work work_of(const Conv& conv) {
  Work work;
  work.conv = conv;
  work.gemm = {conv.batch * conv.out_h * conv.out_w, conv.channels * conv.filter_h * conv.filter_w,
               conv.filters};
  return work;
}

TEST(RowStationaryGolden, EveryMappingOfNnDataflow) {
  const auto rows = golden("row_stationary.csv");
  ASSERT_EQ(rows.size(), 60U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("array_h") + "x" + row.at("array_w") + " " + row.at("layer"));
    const Conv conv = conv_of(row);
    const Array array = array_of(row);
    const RowMapping map = map_rows(conv, array);
    EXPECT_EQ(map.cycles, whole(row, "cycles"));
    EXPECT_EQ(map.fold_h, whole(row, "fold_h"));
    EXPECT_EQ(map.fold_w, whole(row, "fold_w"));
    EXPECT_EQ(map.repl_h, whole(row, "repl_h"));
    EXPECT_EQ(map.repl_w, whole(row, "repl_w"));
    EXPECT_EQ(map.channels, whole(row, "spatial_channels"));
    EXPECT_EQ(map.filters, whole(row, "spatial_filters"));
    const ArrayCost cost = kRowStationary.cost(work_of(conv), array);
    EXPECT_NEAR(100 * utilisation(cost, array), real(row, "utilization"), 1e-4);
  }
}

TEST(EyerissChip, ProcessingCyclesAndActivePes) {
  Array array;
  array.rows = 12;
  array.columns = 14;
  const auto rows = golden("eyeriss_chip.csv");
  ASSERT_EQ(rows.size(), 18U);
  for (const auto& row : rows) {
    const std::string name = row.at("layer");
    SCOPED_TRACE(row.at("net") + " " + name);
    const ArrayCost cost = kRowStationary.cost(work_of(conv_of(row)), array);
    EXPECT_EQ(cost.cycles, whole(row, "rs_cycles_formula"));
    const double measured = real(row, "eyeriss_processing_cycles");
    if (row.at("net") == "alexnet") {
      const double ratio = static_cast<double>(cost.cycles) / measured;
      EXPECT_GT(ratio, 0.84);
      EXPECT_LT(ratio, 0.96);
      if (name == "CONV1") continue;
      EXPECT_DOUBLE_EQ(active_pes(cost), real(row, "eyeriss_active_PEs"));
    } else {
      // The published buffer traffic at 16 bytes per cycle bounds what the array alone would need.
      const double bytes = real(row, "eyeriss_GLB_MB") * 1024 * 1024;
      const double time =
          static_cast<double>(cost.cycles + bandwidth_stall(cost.cycles, bytes, 16));
      EXPECT_GT(time / measured, 0.85);
      EXPECT_LT(time / measured, 1.01);
    }
  }
}

TEST(Cacti, DefaultEnergiesAreTheTables) {
  const EnergyTable defaults;
  bool registers = false, buffer = false;
  for (const auto& row : golden("cacti_45nm.csv")) {
    if (row.at("config") != "accelergy_lstp_300K" || row.at("tech_nm") != "45") continue;
    if (row.at("size_bytes") == "512" && row.at("access_bits") == "16") {
      registers = true;
      EXPECT_DOUBLE_EQ(defaults.register_read_pj, real(row, "read_pJ_per_16b"));
      EXPECT_DOUBLE_EQ(defaults.register_write_pj, real(row, "write_pJ_per_16b"));
      EXPECT_NEAR(defaults.pe_leakage_mw, real(row, "leakage_mW"), 1e-8);  // four digits kept
    }
    if (row.at("size_bytes") == "110592" && row.at("access_bits") == "64") {
      buffer = true;
      EXPECT_DOUBLE_EQ(defaults.buffer_read_pj, real(row, "read_pJ_per_16b"));
      EXPECT_DOUBLE_EQ(defaults.buffer_write_pj, real(row, "write_pJ_per_16b"));
      EXPECT_NEAR(defaults.buffer_leakage_mw, real(row, "leakage_mW"), 1e-6);
    }
  }
  EXPECT_TRUE(registers && buffer);
}

}  // namespace
}  // namespace adagp::accel
