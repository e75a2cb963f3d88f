#include "adagp/sim/scalesim/config.h"

#include <map>

#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/scalesim/text_lines.h"

namespace adagp::scalesim {
namespace {

struct Entry {
  std::string value;
  Place place;  // of the value
};

// "section.key", both lower case -> entry.
using Entries = std::map<std::string, Entry>;

const std::vector<std::string> kSections = {
    "general", "architecture_presets", "run_presets", "layout", "sparsity", "network_presets"};
constexpr int64_t kLargestArray = 1 << 20;   // PEs along one side
constexpr int64_t kLargestBuffer = 1 << 30;  // kB
constexpr int64_t kLargestBandwidth = 1 << 30;

std::string section_of(const Line& line, const Place& place) {
  const std::string text = core::trim(line.text);
  if (!text.ends_with(']')) throw DataError(place.str() + ": '" + text + "' lacks its ']'");
  const std::string name = core::lower(core::trim(text.substr(1, text.size() - 2)));
  return core::find_named<DataError>(kSections, name, place.str() + ": unknown section");
}

Entries read_entries(const std::string& text, const std::string& file_name) {
  Entries entries;
  std::string section;
  for (const Line& line : lines_of(text)) {
    const std::string trimmed = core::trim(line.text);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    const auto first = static_cast<int>(line.text.find_first_not_of(" \t") + 1);
    const Place place{file_name, line.number, first};
    if (trimmed.front() == '[') {
      section = section_of(line, place);
      continue;
    }
    const size_t mark = line.text.find_first_of(":=");
    if (mark == std::string::npos) {
      throw DataError(place.str() + ": '" + trimmed + "', expected 'Key : value'");
    }
    if (section.empty()) {
      throw DataError(place.str() + ": '" + trimmed + "' stands before the first [section]");
    }
    const std::string key = section + "." + core::lower(core::trim(line.text.substr(0, mark)));
    const size_t value_at = line.text.find_first_not_of(" \t", mark + 1);
    const Place at{file_name, line.number,
                   static_cast<int>((value_at == std::string::npos ? mark : value_at) + 1)};
    const auto [old, fresh] =
        entries.emplace(key, Entry{core::trim(line.text.substr(mark + 1)), at});
    if (!fresh) {
      throw DataError(core::cat(place.str(), ": ", key, " is set twice; the first is on line ",
                                old->second.place.line));
    }
  }
  return entries;
}

class Reader {
 public:
  Reader(Entries entries, std::string file)
      : entries_(std::move(entries)), file_(std::move(file)) {}

  const Entry* find(const std::string& key) const {
    const auto found = entries_.find(core::lower(key));
    return found == entries_.end() ? nullptr : &found->second;
  }

  const Entry& need(const std::string& key) const {
    if (const Entry* entry = find(key)) return *entry;
    const size_t dot = key.find('.');
    throw DataError(file_ + ": [" + key.substr(0, dot) + "] lacks " + key.substr(dot + 1));
  }

  int64_t number(const std::string& key, int64_t least, int64_t most) const {
    const Entry& entry = need(key);
    const std::string name = key.substr(key.find('.') + 1);
    const int64_t value = whole_number(entry.value, name, least, entry.place);
    if (value > most) {
      throw DataError(
          core::cat(entry.place.str(), ": ", name, " is ", value, ", expected at most ", most));
    }
    return value;
  }

  // Refuses a switch that is on, because what it turns on is not modelled.
  void refuse(const std::string& key, const std::string& what) const {
    const Entry* entry = find(key);
    if (entry != nullptr && core::lower(entry->value) == "true") {
      throw DataError(entry->place.str() + ": " + key.substr(key.find('.') + 1) + " is '" +
                      entry->value + "': " + what + " are not modelled; set it to False");
    }
  }

 private:
  Entries entries_;
  std::string file_;
};

std::string dataflow_of(const Entry& entry) {
  const std::string name = core::lower(entry.value);
  if (name == "ws" || name == "is" || name == "os") return name;
  throw DataError(entry.place.str() + ": Dataflow is '" + entry.value + "', expected ws, is or os" +
                  (name == "rs" ? " (rs is in 'adagp simulate --dataflow rs')" : ""));
}

std::optional<Bandwidths> bandwidths_of(const Reader& reader) {
  const Entry& mode = reader.need("run_presets.InterfaceBandwidth");
  if (core::lower(mode.value) == "calc") return std::nullopt;
  if (core::lower(mode.value) != "user") {
    throw DataError(mode.place.str() + ": InterfaceBandwidth is '" + mode.value +
                    "', expected USER or CALC");
  }
  const Entry& entry = reader.need("architecture_presets.Bandwidth");
  std::vector<int64_t> values;
  for (const std::string& part : core::split(entry.value, ',')) {
    values.push_back(whole_number(core::trim(part), "Bandwidth", 1, entry.place));
  }
  const auto operand = [&](const std::string& key) {
    return reader.find(key) != nullptr ? reader.number(key, 1, kLargestBandwidth) : values[0];
  };
  return Bandwidths{operand("layout.IfmapSRAMBankBandwidth"),
                    operand("layout.FilterSRAMBankBandwidth"), values[0]};
}

std::string layout_of(const std::string& operand, int64_t bandwidth) {
  return core::cat(operand, "CustomLayout : False\n", operand, "SRAMBankBandwidth : ", bandwidth,
                   "\n", operand, "SRAMBankNum : 1\n", operand, "SRAMBankPort : 2\n");
}

}  // namespace

Config parse_config(const std::string& text, const std::string& file_name) {
  const Reader reader(read_entries(text, file_name), file_name);
  Config config;
  config.run_name = reader.need("general.run_name").value;
  if (config.run_name.empty() || config.run_name == "." || config.run_name == ".." ||
      config.run_name.find('/') != std::string::npos) {
    throw DataError(reader.need("general.run_name").place.str() + ": run_name is '" +
                    config.run_name + "', expected the name of a folder, without '/'");
  }
  config.rows = reader.number("architecture_presets.ArrayHeight", 1, kLargestArray);
  config.columns = reader.number("architecture_presets.ArrayWidth", 1, kLargestArray);
  config.ifmap_kb = reader.number("architecture_presets.IfmapSramSzkB", 1, kLargestBuffer);
  config.filter_kb = reader.number("architecture_presets.FilterSramSzkB", 1, kLargestBuffer);
  config.ofmap_kb = reader.number("architecture_presets.OfmapSramSzkB", 1, kLargestBuffer);
  config.dataflow = dataflow_of(reader.need("architecture_presets.Dataflow"));
  config.bandwidths = bandwidths_of(reader);
  reader.refuse("sparsity.SparsitySupport", "sparse filters");
  reader.refuse("layout.IfmapCustomLayout", "custom layouts");
  reader.refuse("layout.FilterCustomLayout", "custom layouts");
  reader.refuse("run_presets.UseRamulatorTrace", "Ramulator traces");
  if (const Entry* entry = reader.find("network_presets.TopologyCsvLoc")) {
    std::string path = entry->value;
    if (path.size() >= 2 && path.front() == '"' && path.back() == '"') {
      path = path.substr(1, path.size() - 2);
    }
    config.topology = path;
  }
  return config;
}

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
