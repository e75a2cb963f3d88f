#include "adagp/study/trace_info.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "adagp/core/lookup.h"
#include "adagp/core/text.h"
#include "adagp/machine/trace.h"
#include "adagp/report/table.h"
#include "adagp/study/output.h"

namespace adagp::study {
namespace {

using machine::LayerTrace;
using machine::Trace;
using nlohmann::ordered_json;

ordered_json number_json(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json layer_info(const LayerTrace& layer) {
  ordered_json out = {
      {"name", layer.name},
      {"density", {{"x", layer.density[0]}, {"dy", layer.density[1]}, {"w", layer.density[2]}}}};
  if (layer.mantissa) {
    const auto& m = *layer.mantissa;
    out["mantissa"] = {{"w", m[0]}, {"a", m[1]}, {"g", m[2]}};
  }
  if (layer.r) {
    const auto& r = *layer.r;
    out["r"] = {{"w", number_json(r[0])}, {"a", number_json(r[1])}, {"g", number_json(r[2])}};
  }
  return out;
}

}  // namespace

std::string trace_info_text(const std::string& run) {
  using report::Align;
  report::Table table({{"epoch"},
                       {"layer", Align::kLeft},
                       {"X not zero (%)"},
                       {"dY not zero (%)"},
                       {"W not zero (%)"},
                       {"bits W/A/G"}});
  std::string heading;
  for (const auto& path : machine::trace_files(run)) {
    const Trace trace = machine::read_trace(path);
    heading = core::cat(trace.network, ", ", trace.input, ", batch ", trace.batch, ", ",
                        trace.examples, " examples with bits\n");
    for (const LayerTrace& layer : trace.layers) {
      const auto percent = [&](size_t i) { return core::fixed(100 * layer.density[i], 1); };
      std::string widths;
      if (layer.mantissa) {
        const auto& m = *layer.mantissa;
        widths = core::cat(m[0], "/", m[1], "/", m[2]);
      }
      table.add_row(
          {std::to_string(trace.epoch), layer.name, percent(0), percent(1), percent(2), widths});
    }
  }
  return heading + table.console();
}

report::HeatMap trace_map(const std::string& run, const std::string& value) {
  static constexpr std::array kValues = {"x", "dy", "w", "bits-w", "bits-a", "bits-g"};
  core::find_named(kValues, value, "--value", " is unknown");
  size_t place = 0;
  while (kValues.at(place) != value) ++place;
  const bool bits = place >= 3;
  report::HeatMap map;
  map.x_title = "epoch";
  map.limit = bits ? 4 : 1;
  std::map<std::string, size_t> rows;
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto& path : machine::trace_files(run)) {
    const Trace trace = machine::read_trace(path);
    map.title =
        core::cat(trace.network, ": ", bits ? "mantissa bits, " : "share of zeros, ", value);
    for (const LayerTrace& layer : trace.layers) {
      const auto [row, is_new] = rows.emplace(layer.name, map.rows.size());
      if (is_new) {
        map.rows.push_back(layer.name);
        map.values.emplace_back(map.columns.size(), none);
      }
      const double shown = !bits            ? 1 - layer.density[place]
                           : layer.mantissa ? (*layer.mantissa)[place - 3]
                                            : none;
      map.values[row->second].push_back(shown);
    }
    map.columns.push_back(static_cast<double>(trace.epoch));
    for (auto& values : map.values) values.resize(map.columns.size(), none);
  }
  return map;
}

std::string trace_info_json(const std::string& run) {
  ordered_json out = {{"run", run}, {"epochs", ordered_json::array()}};
  for (const auto& path : machine::trace_files(run)) {
    const Trace trace = machine::read_trace(path);
    out["network"] = trace.network;
    out["input"] = trace.input;
    ordered_json epoch = {{"epoch", trace.epoch},
                          {"batch", trace.batch},
                          {"examples", trace.examples},
                          {"layers", ordered_json::array()}};
    for (const LayerTrace& layer : trace.layers) epoch["layers"].push_back(layer_info(layer));
    out["epochs"].push_back(std::move(epoch));
  }
  return dump(out, 2) + "\n";
}

}  // namespace adagp::study
