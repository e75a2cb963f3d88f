#include "adagp/sim/layers/table_json.h"

#include <nlohmann/json.hpp>

namespace adagp::layers {

nlohmann::ordered_json uncounted_json(const Table& table) {
  auto out = nlohmann::ordered_json::array();
  for (const Uncounted& one : table.uncounted) {
    nlohmann::ordered_json entry = {{"name", one.name}, {"op", one.op}, {"times", one.times}};
    entry["macs"] = one.macs ? nlohmann::ordered_json(*one.macs) : nlohmann::ordered_json(nullptr);
    out.push_back(std::move(entry));
  }
  return out;
}

nlohmann::ordered_json missing_json(const Missing& missing) {
  return {
      {"share", missing.share}, {"macs", missing.macs}, {"unknown_operations", missing.unknown}};
}

std::string to_json(const Table& table) {
  nlohmann::ordered_json out = {{"model", table.model},
                                {"input", table.input},
                                {"macs", total_macs(table)},
                                {"weights", total_weights(table)},
                                {"layers", nlohmann::ordered_json::array()}};
  for (const Row& row : table.rows) {
    nlohmann::ordered_json one = {{"name", row.name},
                                  {"op", row.op},
                                  {"input", row.input},
                                  {"output", row.output},
                                  {"kernel", row.kernel},
                                  {"stride", row.stride},
                                  {"padding", row.padding},
                                  {"groups", row.groups},
                                  {"macs", row.macs},
                                  {"weights", row.weights},
                                  {"bias", row.bias},
                                  {"input_bytes", row.input_bytes},
                                  {"output_bytes", row.output_bytes}};
    if (row.dilation != decltype(row.dilation){1, 1}) one["dilation"] = row.dilation;
    if (row.depth != Depth{}) {
      one["depth"] = {{"input", row.depth.input},     {"output", row.depth.output},
                      {"kernel", row.depth.kernel},   {"stride", row.depth.stride},
                      {"padding", row.depth.padding}, {"dilation", row.depth.dilation}};
    }
    if (row.frozen != 0) one["frozen"] = true;
    out["layers"].push_back(std::move(one));
  }
  if (table.uncounted.empty()) return out.dump(2) + "\n";
  out["missing"] = missing_json(missing(table));
  out["uncounted"] = uncounted_json(table);
  return out.dump(2) + "\n";
}

}  // namespace adagp::layers
