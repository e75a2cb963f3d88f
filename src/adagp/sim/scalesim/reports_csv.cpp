#include "adagp/base/core/text.h"
#include "adagp/sim/scalesim/reports.h"

namespace adagp::scalesim {
namespace {

// Python's str(float): a whole number keeps its ".0".
std::string python_float(double value) {
  const std::string text = core::shortest(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string python_float(int64_t value) {
  return std::to_string(value) + ".0";
}

// Lines end with a comma, like SCALE-Sim's.
template <typename Cells>
std::string report(const std::string& titles, const std::vector<LayerReport>& layers,
                   const Cells& cells) {
  const bool notes = !layers.empty() && !layers.front().note.empty();
  std::string out = titles + (notes ? ", Note,\n" : ",\n");
  for (size_t i = 0; i < layers.size(); ++i) {
    out += std::to_string(i) + ", " + core::join(cells(layers[i]), ", ");
    out += notes ? ", " + layers[i].note + ",\n" : ",\n";
  }
  return out;
}

double per_cycle(const Traffic& traffic) {
  return static_cast<double>(traffic.words) / static_cast<double>(traffic.stop - traffic.start + 1);
}

}  // namespace

std::string compute_report(const std::vector<LayerReport>& layers) {
  return report(
      "LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, Mapping "
      "Efficiency %, Compute Util %",
      layers, [](const LayerReport& layer) {
        return std::vector<std::string>{
            std::to_string(layer.total_with_prefetch), std::to_string(layer.total_cycles),
            std::to_string(layer.stall_cycles),        python_float(layer.overall_util),
            python_float(layer.mapping_efficiency),    python_float(layer.compute_util)};
      });
}

std::string bandwidth_report(const std::vector<LayerReport>& layers) {
  return report(
      "LayerID, Avg IFMAP SRAM BW, Avg FILTER SRAM BW, Avg OFMAP SRAM BW, Avg IFMAP DRAM BW, Avg "
      "FILTER DRAM BW, Avg OFMAP DRAM BW",
      layers, [](const LayerReport& layer) {
        std::vector<std::string> cells;
        for (const Traffic& sram : {layer.sram_ifmap, layer.sram_filter, layer.sram_ofmap}) {
          cells.push_back(python_float(static_cast<double>(sram.words) /
                                       static_cast<double>(layer.total_cycles)));
        }
        for (const Traffic& dram : {layer.dram_ifmap, layer.dram_filter, layer.dram_ofmap}) {
          cells.push_back(python_float(per_cycle(dram)));
        }
        return cells;
      });
}

std::string detailed_access_report(const std::vector<LayerReport>& layers) {
  std::string titles = "LayerID";
  for (const char* memory : {"SRAM", "DRAM"}) {
    for (const auto& [name, words] :
         {std::pair{" IFMAP", "Reads"}, {" Filter", "Reads"}, {" OFMAP", "Writes"}}) {
      const std::string column = std::string(", ") + memory + name + " ";
      titles += column + "Start Cycle" + column + "Stop Cycle" + column + words;
    }
  }
  return report(titles, layers, [](const LayerReport& layer) {
    std::vector<std::string> cells;
    for (const Traffic& traffic : {layer.sram_ifmap, layer.sram_filter, layer.sram_ofmap,
                                   layer.dram_ifmap, layer.dram_filter, layer.dram_ofmap}) {
      cells.push_back(python_float(traffic.start));
      cells.push_back(python_float(traffic.stop));
      cells.push_back(std::to_string(traffic.words));
    }
    return cells;
  });
}

}  // namespace adagp::scalesim
