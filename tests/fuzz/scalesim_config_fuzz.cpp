// Any text is either a DataError or a SCALE-Sim configuration with which a layer can be reported.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/scalesim/reports.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  scalesim::Config config;
  try {
    config = scalesim::parse_config(text, "fuzz.cfg");
  } catch (const DataError&) {
    return 0;
  }
  if (config.rows < 1 || config.columns < 1 || config.run_name.empty()) std::abort();
  const auto report = scalesim::report_layer(config, {"layer", 12, 12, 3, 3, 8, 16, 1});
  if (report.total_cycles < 1 || report.overall_util > 100) std::abort();
  return 0;
}
