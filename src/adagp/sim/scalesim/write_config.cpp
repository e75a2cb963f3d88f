#include "adagp/base/core/text.h"
#include "adagp/sim/scalesim/config.h"

namespace adagp::scalesim {
namespace {

std::string layout_of(const std::string& operand, int64_t bandwidth) {
  return core::cat(operand, "CustomLayout : False\n", operand, "SRAMBankBandwidth : ", bandwidth,
                   "\n", operand, "SRAMBankNum : 1\n", operand, "SRAMBankPort : 2\n");
}

}  // namespace

std::string config_text(const Config& config) {
  const Bandwidths bandwidths = config.bandwidths.value_or(Bandwidths{});
  std::string out = core::cat(
      "[general]\nrun_name = ", config.run_name,
      "\n\n[architecture_presets]\nArrayHeight : ", config.rows, "\nArrayWidth : ", config.columns,
      "\nIfmapSramSzkB : ", config.ifmap_kb, "\nFilterSramSzkB : ", config.filter_kb,
      "\nOfmapSramSzkB : ", config.ofmap_kb,
      "\nIfmapOffset : 0\nFilterOffset : 10000000\nOfmapOffset : 20000000\nBandwidth : ",
      bandwidths.ofmap, "\nDataflow : ", config.dataflow,
      "\nMemoryBanks : 1\nReadRequestBuffer : 32\nWriteRequestBuffer : 32\n\n[layout]\n",
      layout_of("Ifmap", bandwidths.ifmap), layout_of("Filter", bandwidths.filter),
      "\n[sparsity]\nSparsitySupport : false\nSparseRep : ellpack_block\nOptimizedMapping : false\n"
      "BlockSize : 8\nRandomNumberGeneratorSeed : 40\n\n[run_presets]\nInterfaceBandwidth : ",
      config.bandwidths ? "USER" : "CALC", "\nUseRamulatorTrace : False\n");
  if (config.topology.empty()) return out;
  return core::cat(out, "\n[network_presets]\nTopologyCsvLoc : \"", config.topology, "\"\n");
}

}  // namespace adagp::scalesim
