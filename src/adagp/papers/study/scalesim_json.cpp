#include "adagp/papers/study/scalesim_json.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::study {

std::string scalesim_json(const scalesim::Config& config, const scalesim::Topology& topology,
                          const std::vector<scalesim::LayerReport>& layers) {
  nlohmann::ordered_json out = {{"run_name", config.run_name},
                                {"array", core::cat(config.rows, "x", config.columns)},
                                {"dataflow", config.dataflow},
                                {"layers", nlohmann::ordered_json::array()}};
  int64_t total = 0, stall = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const scalesim::LayerReport& layer = layers[i];
    total = accel::add(total, layer.total_cycles);
    stall = accel::add(stall, layer.stall_cycles);
    out["layers"].push_back({{"name", topology.layers[i].name},
                             {"total_cycles", layer.total_cycles},
                             {"total_cycles_with_prefetch", layer.total_with_prefetch},
                             {"stall_cycles", layer.stall_cycles},
                             {"utilisation", layer.overall_util / 100},
                             {"mapping_efficiency", layer.mapping_efficiency / 100},
                             {"compute_utilisation", layer.compute_util / 100},
                             {"sram_ifmap_words", layer.sram_ifmap.words},
                             {"sram_filter_words", layer.sram_filter.words},
                             {"sram_ofmap_words", layer.sram_ofmap.words},
                             {"dram_ifmap_words", layer.dram_ifmap.words},
                             {"dram_filter_words", layer.dram_filter.words},
                             {"dram_ofmap_words", layer.dram_ofmap.words},
                             {"accesses_exact", layer.exact}});
    if (!layer.note.empty()) out["layers"].back()["note"] = layer.note;
  }
  out["total"] = {{"total_cycles", total}, {"stall_cycles", stall}};
  return dump(out, 2) + "\n";
}

}  // namespace adagp::study
