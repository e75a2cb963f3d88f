#pragma once
// SCALE-Sim's three reports, from closed forms.
//
// Mode USER is in user_mode.h. Equal to SCALE-Sim in mode CALC: cycles, the percentages, SRAM words
// and times; DRAM words and times of every operand that fits into half its buffer, of weights under
// ws, and of results. Estimates, and marked as such: DRAM words and times of other operands that do
// not fit (read once per time the array asks for the whole of them); the last IFMAP read where a
// stride does not divide.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/topology.h"

namespace adagp::scalesim {

struct Traffic {
  int64_t start = 0, stop = 0;  // cycles; negative before the computation (prefetch)
  int64_t words = 0;
};

struct LayerReport {
  int64_t total_with_prefetch = 0;
  int64_t total_cycles = 0;  // stalls included
  int64_t stall_cycles = 0;
  double overall_util = 0, mapping_efficiency = 0, compute_util = 0;  // percent
  Traffic sram_ifmap, sram_filter, sram_ofmap;
  Traffic dram_ifmap, dram_filter, dram_ofmap;
  bool exact = true;  // false: something of the above is an estimate; the compute cycles never are
  // Mode USER: whether the numbers are SCALE-Sim's, and why not. Empty in mode CALC.
  std::string note;
};

// Throws DataError naming the layer when a number leaves 64 bits.
LayerReport report_layer(const Config& config, const Layer& layer);

// With SCALE-Sim's titles and number formats; in mode USER with a last column for the note.
std::string compute_report(const std::vector<LayerReport>& layers);
std::string bandwidth_report(const std::vector<LayerReport>& layers);
std::string detailed_access_report(const std::vector<LayerReport>& layers);

}  // namespace adagp::scalesim
