#include "adagp/sim/exchange/formats.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/exchange/mapping.h"
#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/topology.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::exchange {
namespace {

using Factors = std::vector<std::pair<Loop, int64_t>>;

Factors factors(const std::vector<Factor>& all) {
  Factors out;
  for (const Factor& one : all) out.emplace_back(one.loop, one.size);
  return out;
}

// 5 channels with 3x3 taps, 20 filters, 8x6 outputs.
layers::Table table() {
  layers::Row row;
  row.name = "DPw,conv";
  row.op = "conv2d";
  row.input = {5, 8, 6};
  row.output = {20, 8, 6};
  row.kernel = {3, 3};
  row.padding = {1, 1};
  layers::complete(row);
  layers::Row second = row;
  second.name = "second";
  second.input[0] = 20;
  layers::complete(second);
  return {"net", "x", {row, second}};
}

TEST(Mapping, FillsASideLoopByLoop) {
  accel::Accelerator machine = zoo::accelerator("adagp-180");  // 12x15, ws
  const LoopNest forward = loop_nests(table(), 2).front();
  const Mapping ws = map_nest(forward, machine);
  EXPECT_EQ(factors(ws.rows), (Factors{{Loop::kChannel, 5}, {Loop::kTapWidth, 2}}));
  EXPECT_EQ(factors(ws.columns), (Factors{{Loop::kFilter, 15}}));
  EXPECT_EQ(factors(ws.time), (Factors{{Loop::kWidth, 6},
                                       {Loop::kHeight, 8},
                                       {Loop::kBatch, 2},
                                       {Loop::kTapWidth, 2},
                                       {Loop::kTapHeight, 3},
                                       {Loop::kFilter, 2}}));
  machine.dataflow = "os";
  const Mapping os = map_nest(forward, machine);
  EXPECT_EQ(factors(os.rows), (Factors{{Loop::kWidth, 6}, {Loop::kHeight, 2}}));
  EXPECT_EQ(os.time.front().loop, Loop::kChannel);
  machine.dataflow = "is";
  EXPECT_EQ(factors(map_nest(forward, machine).columns),
            (Factors{{Loop::kWidth, 6}, {Loop::kHeight, 2}}));
}

TEST(Mapping, EveryProductOfTheZooFitsTheArrayAndIsCovered) {
  const accel::Accelerator machine = zoo::accelerator("adagp-180");
  for (const std::string& model : zoo::models()) {
    for (const LoopNest& nest : loop_nests(zoo::layer_table(model, zoo::inputs(model).back()), 2)) {
      const Mapping mapping = map_nest(nest, machine);
      int64_t rows = 1, columns = 1;
      for (const Factor& factor : mapping.rows) rows *= factor.size;
      for (const Factor& factor : mapping.columns) columns *= factor.size;
      EXPECT_LE(rows, machine.array.rows) << model << product_name(nest);
      EXPECT_LE(columns, machine.array.columns) << model << product_name(nest);
      int64_t cycles = 1;
      for (const Factor& factor : mapping.time) cycles *= factor.size;
      EXPECT_GE(cycles * rows * columns, accel::macs(nest.work)) << model << product_name(nest);
    }
  }
}

TEST(Formats, RefuseWhatTheyCannotSay) {
  const layers::Table net = table();
  for (const char* machine : {"eyeriss", "in-place"}) {
    const accel::Accelerator accelerator = zoo::accelerator(machine);
    const Request request{net, accelerator};
    const std::vector<LoopNest> nests = loop_nests(net, 1);
    for (const Format& format : formats()) {
      EXPECT_THROW(format.files(request, nests), UsageError) << format.name << machine;
    }
  }
}

std::string text_of(const std::vector<File>& files, const std::string& name) {
  const auto found = std::ranges::find(files, name, &File::name);
  return found == files.end() ? "" : found->text;
}

TEST(ScaleSimFiles, HaveTheMacsAndTheMachine) {
  const layers::Table net = table();
  accel::Accelerator machine = zoo::accelerator("adagp-180");
  machine.buffer_bytes = 3 * 2 * 1024 * 7;
  machine.dram_bytes_per_cycle = 9;
  for (const int64_t batch : {1, 4}) {
    const Request request{net, machine, batch};
    const std::vector<LoopNest> nests = loop_nests(net, batch);
    const std::vector<File> files = scalesim_files(request, nests);
    for (const accel::Pass pass :
         {accel::Pass::kForward, accel::Pass::kInputGradient, accel::Pass::kWeightGradient}) {
      const std::string name = std::string(pass_name(pass)) + ".csv";
      int64_t macs = 0;
      for (const LoopNest& nest : nests) macs += nest.pass == pass ? accel::macs(nest.work) : 0;
      const auto read =
          scalesim::parse_topology(text_of(files, name), name, scalesim::TopologyKind::kConv);
      EXPECT_EQ(layers::total_macs(scalesim::to_table(read)), macs) << name;
    }
    const scalesim::Config read = scalesim::parse_config(text_of(files, "scalesim.cfg"), "x");
    EXPECT_EQ(read.rows, 12);
    EXPECT_EQ(read.columns, 15);
    EXPECT_EQ(read.dataflow, "ws");
    EXPECT_EQ(read.ifmap_kb, 7);
    ASSERT_TRUE(read.bandwidths);
    EXPECT_EQ(read.bandwidths->filter, 4);  // whole words of two bytes
  }
}

}  // namespace
}  // namespace adagp::exchange
