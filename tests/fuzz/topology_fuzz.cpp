// Any text is either a DataError or a SCALE-Sim topology whose layers can be reported and put into
// a layer table. The first byte chooses convolutions or products.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/scalesim/reports.h"

namespace {

using namespace adagp;

void report_some(const scalesim::Topology& topology) {
  scalesim::Config config;
  config.rows = 3;
  config.columns = 5;
  config.ifmap_kb = config.filter_kb = config.ofmap_kb = 1;
  for (size_t i = 0; i < topology.layers.size() && i < 3; ++i) {
    for (const char* dataflow : {"ws", "is", "os"}) {
      config.dataflow = dataflow;
      try {
        const auto report = scalesim::report_layer(config, topology.layers[i]);
        if (report.total_cycles < 1 || report.overall_util > 100) std::abort();
      } catch (const DataError&) {  // beyond 64 bits
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count == 0) return 0;
  const auto kind =
      bytes[0] % 2 == 0 ? scalesim::TopologyKind::kConv : scalesim::TopologyKind::kGemm;
  const std::string text(reinterpret_cast<const char*>(bytes) + 1, count - 1);
  scalesim::Topology topology;
  try {
    topology = scalesim::parse_topology(text, "fuzz.csv", kind);
  } catch (const DataError&) {
    return 0;
  }
  if (topology.layers.empty()) std::abort();
  const layers::Table table = scalesim::to_table(topology);
  for (const layers::Row& row : table.rows) {
    if (row.macs < 1 || row.weights < 1) std::abort();
  }
  report_some(topology);
  return 0;
}
