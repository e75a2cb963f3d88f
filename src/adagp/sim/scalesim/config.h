#pragma once
// SCALE-Sim's configuration file, versions 2 and 3.

#include <cstdint>
#include <optional>
#include <string>

namespace adagp::scalesim {

// Words per cycle of the three interfaces to DRAM. As in SCALE-Sim 3.0.0, results have the first
// value of `Bandwidth`, operands the [layout] section's IfmapSRAMBankBandwidth and
// FilterSRAMBankBandwidth; in a file of version 2, without that section, they have `Bandwidth` too.
struct Bandwidths {
  int64_t ifmap = 1, filter = 1, ofmap = 1;
};

struct Config {
  std::string run_name = "scale_run";  // the reports' folder
  int64_t rows = 4, columns = 4;       // ArrayHeight, ArrayWidth
  std::string dataflow = "ws";         // ws, is or os
  int64_t ifmap_kb = 256, filter_kb = 256, ofmap_kb = 128;
  // Of InterfaceBandwidth USER; in mode CALC there is none: nothing stalls, and the interface is as
  // wide as it has to be.
  std::optional<Bandwidths> bandwidths;
  std::string topology;  // TopologyCsvLoc; empty = only on the command line
};

// Keys and sections are matched without regard to case, as Python's configparser does. Sections of
// version 3 (layout, sparsity) may be missing. Throws DataError with file, line, column, value and
// rule, also for what is not modelled: sparsity, custom layouts and Ramulator traces.
Config parse_config(const std::string& text, const std::string& file_name);

// A file of version 3 that parse_config reads as `config`.
std::string config_text(const Config& config);

}  // namespace adagp::scalesim
