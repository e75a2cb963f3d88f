// Pictures of traces: which value stands in which cell.

#include "adagp/results/page/run_traces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/io/safetensors.h"
#include "adagp/sim/layers/table.h"
#include "unit/temp_folder.h"

namespace adagp::page {
namespace {

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// Layers "b" and "a", in this order, each with its share of zeros of X and its width of W.
struct MadeLayer {
  std::string name;
  float zeros;
  char width;
};

class TraceMap : public ::testing::Test {
 protected:
  void write(int epoch, const std::vector<MadeLayer>& layers, bool widths = true) {
    std::deque<std::string> contents;  // of which the tensors are views
    std::vector<io::TensorBytes> tensors;
    const auto add = [&](const std::string& name, const char* dtype, std::string bytes) {
      contents.push_back(std::move(bytes));
      tensors.push_back({name, dtype, {3}, contents.back()});
    };
    for (const MadeLayer& layer : layers) {
      add(layer.name + "/density", "F32", raw_bytes<float>({1 - layer.zeros, 0.5F, 1}));
      add(layer.name + "/shape", "I64", raw_bytes<int64_t>({8, 8, 8}));
      if (widths) add(layer.name + "/mantissa", "U8", std::string({layer.width, '\2', '\4'}));
    }
    core::make_folder(folder / "trace");
    io::write_safetensors(folder / ("trace/e00" + std::to_string(epoch) + ".safetensors"), tensors,
                          {{"network", "net"},
                           {"input", "made up"},
                           {"epoch", std::to_string(epoch)},
                           {"batch", "2"},
                           {"examples", "1"}});
  }
  void write_table() {
    layers::Table table{"net", "made up", {}, {}};
    for (const char* name : {"b", "a"}) {
      layers::Row row;
      row.name = name;
      row.op = "linear";
      row.input = row.output = {8, 1, 1};
      layers::complete(row);
      table.rows.push_back(row);
    }
    core::write_file(folder / "layers.csv", layers::to_csv(table));
  }

  adagp::testing::TempFolder folder;
};

TEST_F(TraceMap, ZerosByLayerAndEpochInTheOrderOfTheNetwork) {
  write(1, {{"a", 0.25F, 2}, {"b", 0.5F, 2}});
  write(4, {{"a", 0.75F, 2}});
  write_table();
  const report::HeatMap map = trace_map(folder.path().string(), "x");
  EXPECT_EQ(map.rows, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(map.columns, (std::vector<double>{1, 4}));
  EXPECT_EQ(map.values[0][0], 0.5);
  EXPECT_TRUE(std::isnan(map.values[0][1]));  // not in the trace of epoch 4
  EXPECT_EQ(map.values[1], (std::vector<double>{0.25, 0.75}));
  const report::HeatMap all = trace_map(folder.path().string(), "zeros");
  EXPECT_EQ(all.rows[3], "dY of a");
  EXPECT_EQ(all.values[3][1], 0.5);
  EXPECT_NE(report::svg(all).find("25 %"), std::string::npos);
}

TEST_F(TraceMap, Fp32HasAColourOfItsOwn) {
  write(1, {{"a", 0, 0}, {"b", 0, 2}});
  const report::HeatMap map = trace_map(folder.path().string(), "bits");
  EXPECT_EQ(map.rows.front(), "W of a");  // no layer table: by name
  EXPECT_EQ(map.values[0][0], -4);
  EXPECT_EQ(map.values[1][0], 2);
  EXPECT_EQ(map.values[5][0], 4);
  ASSERT_EQ(map.keys.size(), 3U);
  EXPECT_EQ(map.keys[0].second, "2 bits");
  EXPECT_EQ(map.keys[2].second, "fp32");
  EXPECT_LT(report::heat_colour(map.keys[2].first, map.limit), report::kHeatColours / 2);
}

TEST_F(TraceMap, BadRequests) {
  write(1, {{"a", 0, 0}}, false);
  EXPECT_THROW(trace_map(folder.path().string(), "bits-w"), DataError);
  EXPECT_THROW(trace_map(folder.path().string(), "y"), UsageError);
  EXPECT_THROW(trace_map((folder / "nowhere").string(), "x"), DataError);
}

}  // namespace
}  // namespace adagp::page
